package sandbox

import (
	"testing"

	"github.com/toolserver/toolserver/sandbox/command"
)

func TestCmdexe(t *testing.T) {
	p, err := command.Compile(command.Config{Allowed: command.Rules("dir", "type", "findstr"), Denied: command.Rules("del")})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`dir`: true, `type notes.txt`: true, `findstr /s /i todo src`: true,
		`dir & del x`: false, `dir "a & del x"`: false, `type %COMSPEC%`: false, `type 'x^&del y'`: false, `dir | findstr x`: false, `type a > b`: false, `del x`: false,
		"type a\\\ndel": false, `findstr "a b" c`: false, `type ..\secret`: false, `sudo dir`: false,
	} {
		if got := cmdexe(p.Decide(command.Request{Command: text, Dir: "/"}), text, 0).Allowed; got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
	if got := cmdexe(p.Decide(command.Request{Command: "dir", Dir: "/"}), "dir", 1); got.Allowed || got.Rule != "windows-variables" {
		t.Errorf("with a variable: %+v", got)
	}
}
