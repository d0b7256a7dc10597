package confine

import (
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
)

func text(res runner.Result) string {
	head, _, _ := res.Output.Parts(1 << 20)
	return head
}

// Commands of a runner are confined, and it still ends them.
func TestRunner(t *testing.T) {
	if have := Probe(); have.LandlockABI == 0 || !have.Seccomp {
		t.Skip("no Landlock or no seccomp here")
	}
	needs(t, "bash")
	self, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []process.Method{process.MethodNamespace, process.MethodSubreaper} {
		t.Run(strings.ReplaceAll(string(method), " ", "-"), func(t *testing.T) {
			g := newGround(t)
			launcher := process.NewLauncher(process.Options{Supervisor: self, Method: method})
			defer launcher.Close()
			r := runner.New(launcher, runner.Options{Grace: 50 * time.Millisecond})
			defer r.Close()
			if got, err := launcher.Method(); got != method {
				t.Skip(err)
			}
			req := runner.Request{Env: process.MinimalEnv(nil), Dir: g.work, Confine: mustEncode(t, Spec{Write: []string{g.work}}), Timeout: 20 * time.Second}
			for range 3 { // by the same supervisor
				req.Shell = "cat file; echo x > new && cat new; cat " + g.secret + "; kill -9 $PPID; (sleep 100 &); ! cat /proc/$PPID/environ"
				res, err := r.Run(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				if out := text(res); !strings.HasPrefix(out, "content\nx\n") || strings.Count(out, "denied")+strings.Count(out, "permitted") != 3 || res.Code != 0 {
					t.Errorf("got %+v %q", res, out)
				}
				res.Close()
			}
			req.Shell, req.Timeout = "sleep 100 & setsid sleep 100 & sleep 100", 100*time.Millisecond
			res, err := r.Run(t.Context(), req)
			if err != nil || !res.TimedOut || res.Unkillable {
				t.Errorf("got %+v %v", res, err)
			}
			req.Confine = []byte("nonsense")
			if _, err := r.Run(t.Context(), req); err == nil || !strings.Contains(err.Error(), errPlan.Error()) {
				t.Errorf("got %v", err)
			}
			g.unchanged(t)
		})
	}
}
