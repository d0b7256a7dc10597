package pathguard

import (
	"strings"
	"testing"
)

// Each way in which a path of Windows means something else than it spells is refused by its
// text, and what is a plain name is not.
func TestForeignToWindows(t *testing.T) {
	for _, c := range []struct{ reason, paths string }{
		{"", `a.txt¦sub\a.txt¦sub/a.txt¦.\a¦..\a¦C:\a¦c:/a/b¦C:\¦.¦..¦.env¦a~b¦a~1b¦a~1.html¦~user¦a~1b~backup.txt¦COM¦COM10¦LPTX¦console¦null¦aux2¦nul1.txt¦a b¦.a.b¦a'b(1)+&%!^#[]{}¦é¦CON_¦long~1name.txt`},
		{"network or device path", `\\server\share\a¦//server/share/a¦\/server\share¦/\server\share¦\\?\C:\a¦\\?\UNC\server\share¦//?/C:/a¦\\.\C:¦\\.\pipe\x¦\\.\PhysicalDrive0¦\??\C:\a¦\\localhost\c$\a¦\\127.0.0.1\c$\a`},
		{"current directory of a drive", `C:a¦c:a\b¦C:¦C:..\a¦z:.¦a:x`},
		{"current drive", `\a¦/a¦\Windows\win.ini¦/¦/a/../b`},
		{"alternate data stream", `a.txt:x¦a.txt::$DATA¦C:\a\b:c¦sub:x\a¦.env::$DATA¦C:\a:b:$DATA¦ab:c¦C:\C:\a¦1:x`},
		{"ends in a dot or a space", `a.¦a ¦a. .¦.env.¦.env ¦sub.\a¦sub \a¦...¦C:\a...¦NUL.¦a\. ¦.. \a`},
		{"a character", `a?¦a*¦a<¦a>¦a"¦a` + "\x01" + `b¦a|b¦a` + "\n" + `¦C:\a\b>.txt`},
		{"name of a device", `CON¦con¦NUL¦nul.txt¦NUL.tar.gz¦sub\AUX¦sub/aux.c¦PRN¦COM1¦com9.log¦LPT1¦LPT0¦COM¹¦lpt³.txt¦CONIN$¦conout$¦CLOCK$¦C:\a\nul¦nul .txt¦CON\a`},
		{"short (8.3) name", `PROGRA~1¦progra~1\a¦GIT~1¦C:\PROGRA~2\a¦SECRET~1.TXT¦ENV~1¦A~1.B¦ABCDEF~9¦A1B2~1.KEY¦~1¦A~~BLO~1.TXT¦ÄÖÜÄÖÜ~1.ÄÖÜ¦AB12~1`},
	} {
		for path := range strings.SplitSeq(c.paths, "¦") {
			if got := foreignToWindows(path); c.reason == "" && got != "" || !strings.Contains(got, c.reason) {
				t.Errorf("%q: %q, not %q", path, got, c.reason)
			}
		}
	}
}

func TestPrivate(t *testing.T) {
	for path, want := range map[string]bool{
		"/Users/ann/Desktop": true, "/Users/ann/documents/a/b": true, "/Users/ann/Downloads/x.pdf": true, "/Volumes/Stick/a": true,
		"/Users/ann/Desktops": false, "/Users/ann": false, "/Users/ann/src/Documents": false, "/private/tmp/Desktop": false, "/": false, "": false,
	} {
		if private(path) != want {
			t.Errorf("%q: not %v", path, want)
		}
	}
}
