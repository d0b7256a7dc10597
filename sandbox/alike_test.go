package sandbox

import (
	"os/exec"
	"strings"
	"testing"
)

// What is started without a shell does what the shell does.
func TestAlike(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	for _, text := range []string{"true", "false", "true x", "echo", "echo hi", "echo a/b.c d=e f-g 100% x@y +1 _ , :"} {
		if !alike().MatchString(text) {
			t.Errorf("%q: not found", text)
			continue
		}
		words := strings.Fields(text)
		program, err1 := exec.Command(words[0], words[1:]...).Output()
		shell, err2 := exec.Command(bash, "-c", text).Output()
		if string(program) != string(shell) || (err1 == nil) != (err2 == nil) {
			t.Errorf("%q: %q %v and %q %v", text, program, err1, shell, err2)
		}
	}
	for _, text := range []string{
		"echo -n x", "echo -e x", "true --help", `echo a\tb`, "echo 'a b'", "echo $HOME", "echo *", "echo [a]", "echo a?", "echo ~", "echo {a,b}", "echo a;b", "echo a&",
		"echo a|b", "echo a>b", "echo #a", "echo !a", "echo (a)", "echo a\nfalse", "echo a\n", "echo  a", "echo a ", " echo a", "echo\ta", "echo a`b`", "echoa", "pwd", "",
	} {
		if alike().MatchString(text) {
			t.Errorf("%q: found", text)
		}
	}
}
