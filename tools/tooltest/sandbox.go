package tooltest

import (
	"net/http"
	"testing"

	"toolserver/sandbox"
	"toolserver/tools/declare"
)

// Sandbox returns the sandbox of a policy for the tools of groups. Commands are
// judged in it and not run. Without a working directory it is a temporary one.
func Sandbox(t testing.TB, p sandbox.Policy, groups ...declare.Group) *sandbox.Sandbox {
	t.Helper()
	p.Owners = declare.Owners(groups...)
	if p.WorkingDirectory == "" {
		p.WorkingDirectory = t.TempDir()
	}
	kernel := sandbox.NewKernel(nil)
	s, err := sandbox.New(p, kernel)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		_ = kernel.Close() // nothing was run
	})
	return s
}

// Client has every tool send its requests with c.
func Client(c *http.Client) func(tool string) *http.Client {
	return func(string) *http.Client { return c }
}
