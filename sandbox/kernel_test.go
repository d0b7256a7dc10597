package sandbox

import (
	"testing"

	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
)

// owners are those of the tests.
var owners = []Owner{
	{Tool: "read_file", Reads: "read_file"}, {Tool: "list_directory", Reads: "read_file"}, {Tool: "search_files", Reads: "read_file"}, {Tool: "grep", Reads: "read_file"},
	{Tool: "write_file", Writes: "write_file"}, {Tool: "append_file", Writes: "write_file"}, {Tool: "edit_file", Reads: "read_file", Writes: "write_file"},
	{Tool: "bash", Runs: "bash", Reads: "read_file", Writes: "write_file"}, {Tool: "execute_command", Runs: "bash", Reads: "read_file", Writes: "write_file"},
	{Tool: "web_fetch", Fetches: "web_fetch", AnyHost: true}, {Tool: "jobs", Fetches: "jobs"}, {Tool: "job", Fetches: "jobs"},
	{Tool: "echo"},
}

// writers are those of them that write files.
var writers = []string{"write_file", "append_file", "edit_file"}

// newSandbox returns the sandbox of a policy for the owners of the tests.
func newSandbox(t testing.TB, p Policy) *Sandbox {
	t.Helper()
	p.Owners = owners
	s, err := New(p, newKernel(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newKernel returns a kernel layer for commands that are judged and not run.
func newKernel(t testing.TB) *Kernel {
	t.Helper()
	r := runner.New(process.NewLauncher(process.Options{}), runner.Options{})
	t.Cleanup(r.Close)
	return NewKernel(r)
}
