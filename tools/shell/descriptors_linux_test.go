package shell_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/shell"
)

// TestNoDescriptors runs commands while no file can be opened.
func TestNoDescriptors(t *testing.T) {
	f := newFixture(t, nil, shell.Options{})
	f.exact(t)
	tooltest.Call(t, f.bash, `{"command":"sleep 1000","background":true}`) // in the supervisor there is
	free, err := unix.Dup(0)                                               // the lowest there is
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(free)
	var usual unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &usual); err != nil {
		t.Fatal(err)
	}
	limit := func(n uint64) {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: usual.Max}); err != nil {
			t.Fatal(err)
		}
	}
	defer limit(usual.Cur)
	for extra := range uint64(24) { // the more there are, the further it gets
		limit(uint64(free) + extra)
		res, err := tooltest.Executor(t, f.bash).Call(t.Context(), call.ExecuteToolCommand{Tool: "bash", Arguments: []byte(`{"command":"echo hi"}`)})
		limit(usual.Cur)
		text := tooltest.Text(res)
		if text != "hi" && (res.ErrorType() != "busy" || !strings.Contains(text, "too many open files")) {
			t.Errorf("%d descriptors: %q, of the type %q; %v", extra, text, res.ErrorType(), err)
		}
	}
	tooltest.Run(t, f.bash, []tooltest.Case{{Name: "after that", Args: `{"command":"echo hi"}`, Exact: "hi"}})
}
