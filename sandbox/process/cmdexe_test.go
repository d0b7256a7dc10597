package process

import (
	"strings"
	"testing"
)

func TestTextLine(t *testing.T) {
	const cmd = `C:\Windows\System32\cmd.exe`
	for text, want := range map[string]string{
		`dir`:                    `dir`,
		`echo "a b" & exit 3`:    `echo "a b" & exit 3`,
		"dir\r\n":                `dir`,
		"echo a\ndel /q *":       "",
		"echo a\rdel /q *":       "",
		`"C:\a b\x.exe" "c d" %`: `"C:\a b\x.exe" "c d" %`,
	} {
		line, err := textLine(cmd, text)
		if want == "" && err == nil || want != "" && line != `"`+cmd+`" /D /S /C "`+want+`"` {
			t.Errorf("%q: %s %v", text, line, err)
		}
	}
}

func TestBatchLine(t *testing.T) {
	const cmd, file = `C:\Windows\System32\cmd.exe`, `C:\Program Files\nodejs\npx.cmd`
	const head = `"` + cmd + `" /D /V:OFF /S /C ""` + file + `"`
	for _, c := range []struct {
		args []string
		want string // empty if an argument is refused
	}{
		{nil, head + `"`},
		{[]string{"-y", "@scope/server@1.2.3", `C:\dir`}, head + ` -y "@scope/server@1.2.3" C:\dir"`},
		{[]string{"", "a b", "a,b;c=d", "(x)", "~"}, head + ` "" "a b" "a,b;c=d" "(x)" "~""`},
		{[]string{`C:\a b\`, `C:\ab\`, `\\`}, head + ` "C:\a b\\" C:\ab\ \\"`},
		{[]string{"é"}, head + ` "é""`},
	} {
		if line, err := batchLine(cmd, file, c.args); line != c.want || err != nil {
			t.Errorf("%q: %s %v, not %s", c.args, line, err, c.want)
		}
	}
	for _, r := range live {
		for _, arg := range []string{string(r), "a" + string(r) + "b", `" ` + string(r) + "calc"} {
			if line, err := batchLine(cmd, file, []string{"-y", arg}); err == nil {
				t.Errorf("%q is let through: %s", arg, line)
			}
		}
	}
	if _, err := batchLine(cmd, `C:\100%\npx.cmd`, nil); err == nil || !strings.Contains(err.Error(), "'%'") {
		t.Errorf("the path of a batch file with a percent sign: %v", err)
	}
}

func TestIsBatch(t *testing.T) {
	for file, want := range map[string]bool{
		`C:\nodejs\npx.cmd`: true, `X.BAT`: true, `C:\x.Cmd `: true, `C:\x.bat.`: true,
		`C:\x.exe`: false, `C:\bat`: false, `C:\x.cmd\run.exe`: false, `C:\x.cmd\run`: false, ``: false,
	} {
		if isBatch(file) != want {
			t.Errorf("%q: not %v", file, want)
		}
	}
}
