package command_test

import (
	"os/exec"
	"slices"
	"testing"

	"github.com/toolserver/toolserver/sandbox/command"
)

// What is started without a shell although it is a builtin does what the shell does.
func TestAlike(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	policy := func(c command.Config) *command.Policy {
		p, err := command.Compile(c)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	open := policy(command.Config{})
	for _, text := range []string{
		"true", "false", "true x", "echo", "echo hi", "echo a/b.c d=e f-g 100% x@y +1 _ , :", "echo 'a b'", `echo "a  b"`, "echo  a ", "echo #a", "echo !a", "echo '*' $'a\tb'",
	} {
		plain := open.Decide(command.Request{Command: text, Dir: "/"}).Plain
		if len(plain) == 0 {
			t.Errorf("%q: not plain", text)
			continue
		}
		program, err1 := exec.Command(plain[0], plain[1:]...).Output()
		shell, err2 := exec.Command(bash, "-c", text).Output()
		if string(program) != string(shell) || (err1 == nil) != (err2 == nil) {
			t.Errorf("%q: %q %v and %q %v", text, program, err1, shell, err2)
		}
	}
	for _, text := range []string{
		"echo -n x", "echo a -e", "true --help", "false --version", `echo a\\tb`, `echo 'a\tb'`, "echo $HOME", "echo *", "echo [a]", "echo a?", "echo ~", "echo {a,b}", "echo a; echo b",
		"echo a &", "echo a | cat", "echo a >b", "echo a\nfalse", "echo `pwd`", "pwd", "test x", "printf a",
	} {
		if plain := open.Decide(command.Request{Command: text, Dir: "/"}).Plain; plain != nil {
			t.Errorf("%q: %q", text, plain)
		}
	}
	for _, row := range []struct {
		allowed, denied []string
		plain           bool
	}{
		{[]string{"echo"}, nil, true}, {[]string{"*"}, nil, true}, {[]string{"ls"}, nil, false}, {[]string{"echo hi"}, nil, false}, {[]string{"/bin/echo"}, nil, false},
		{nil, []string{"rm"}, false}, {[]string{"echo"}, []string{"rm"}, false},
	} {
		c := command.Config{Denied: rulesOf(row.denied)}
		if row.allowed != nil {
			c.Allowed = rulesOf(row.allowed)
		}
		if plain := policy(c).Decide(command.Request{Command: "echo hi", Dir: "/"}).Plain; slices.Equal(plain, []string{"echo", "hi"}) != row.plain {
			t.Errorf("%q without %q: %q", row.allowed, row.denied, plain)
		}
	}
}
