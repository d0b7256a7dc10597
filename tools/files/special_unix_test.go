//go:build unix

package files_test

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

// TestSpecialFiles calls the tools with files that are never to be waited for.
func TestSpecialFiles(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, func(p *sandbox.Policy) { p.Roots = []string{"/dev"} })
	if err := syscall.Mkfifo(filepath.Join(b.dir, "fifo"), 0o600); err != nil {
		t.Skip(err)
	}
	socket, err := net.Listen("unix", filepath.Join(b.dir, "sock"))
	if err != nil {
		t.Skip(err)
	}
	defer socket.Close()
	b.put(t, "a.txt", "needle\n")
	for path, kind := range map[string]string{"fifo": "a FIFO", "sock": "a socket", "/dev/zero": "a device", "/dev/null": "a device"} {
		b.run(t, "read_file", []tooltest.Case{{Name: path, Args: `{"path":"` + path + `"}`, Want: "is " + kind, ErrorType: "not_a_file"}})
		b.run(t, "append_file", []tooltest.Case{{Name: path, Args: `{"path":"` + path + `","content":"x"}`, ErrorType: "not_a_file"}})
		b.run(t, "edit_file", []tooltest.Case{{Name: path, Args: `{"path":"` + path + `","edits":[{"old_text":"a","new_text":"b"}]}`, ErrorType: "not_a_file"}})
		b.run(t, "write_file", []tooltest.Case{{Name: path, Args: `{"path":"` + path + `","content":"x"}`, ErrorType: "not_a_file"}})
		b.run(t, "grep", []tooltest.Case{{Name: path, Args: `{"path":"` + path + `","pattern":"x"}`, ErrorType: "not_a_file"}})
	}
	b.run(t, "grep", []tooltest.Case{{Name: "tree", Args: `{"pattern":"e"}`, Exact: "a.txt:1:needle"}})
	b.run(t, "list_directory", []tooltest.Case{{Name: "types", Exact: "a.txt\t7\nfifo\tfifo\nsock\tsocket"}})
}

// TestModes checks that mode and content survive what they should.
func TestModes(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	b.put(t, "run.sh", "#!/bin/sh\necho a\n")
	path := filepath.Join(b.dir, "run.sh")
	if err := syscall.Chmod(path, 0o751); err != nil {
		t.Fatal(err)
	}
	mode := func() uint32 {
		var st syscall.Stat_t
		if err := syscall.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		return uint32(st.Mode) & 0o777
	}
	b.call(t, "edit_file", `{"path":"run.sh","edits":[{"old_text":"echo a","new_text":"echo b"}]}`)
	if got := b.get(t, "run.sh"); got != "#!/bin/sh\necho b\n" || mode() != 0o751 {
		t.Errorf("after the edit: %q, mode %o", got, mode())
	}
	b.call(t, "write_file", `{"path":"run.sh","content":"x"}`)
	if got := b.get(t, "run.sh"); got != "x" || mode() != 0o751 {
		t.Errorf("after the write: %q, mode %o", got, mode())
	}
}
