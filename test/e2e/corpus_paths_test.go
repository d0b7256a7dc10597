//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pathRow is a case of a corpus: what a policy makes of an operation on a path.
type pathRow struct {
	ID, Kind, Policy, Op, Path, Expected, Technique, Platform string
	Setup                                                     []string
	Race                                                      bool
	Tools                                                     json.RawMessage // of a policy
}

// pathRows reads the corpus that CORPUS names, or the one kept here.
func pathRows(t *testing.T) (policies map[string]pathRow, rows []pathRow) {
	t.Helper()
	name := os.Getenv("CORPUS")
	if name == "" {
		name = filepath.Join("..", "..", "testdata", "corpus", "paths.jsonl")
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	policies = map[string]pathRow{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r pathRow
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		switch {
		case r.Kind == "policy":
			policies[r.ID] = r
		case r.Kind == "path" && (r.Platform == "" || r.Platform == "posix" || r.Platform == "linux"):
			rows = append(rows, r)
		}
	}
	if err := lines.Err(); err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	return policies, rows
}

// TestCorpusPaths does what each row says through the tools of a server that has
// the row's policy.
func TestCorpusPaths(t *testing.T) {
	t.Parallel()
	policies, rows := pathRows(t)
	for _, r := range rows {
		t.Run(r.ID, func(t *testing.T) {
			if r.Op == "move" || r.Op == "delete" || r.Op == "symlink" {
				t.Skipf("no tool does a %s", r.Op)
			}
			r.run(t, policies[r.Policy])
		})
	}
}

func (r pathRow) run(t *testing.T, policy pathRow) {
	root := shortDir(t)
	var exchange func() (stop func())
	for _, line := range r.Setup {
		if race := plant(t, strings.ReplaceAll(line, "${ROOT}", root)); race != nil {
			exchange = race
		}
	}
	work, outside := filepath.Join(root, "allowed"), []string{"allowed"}
	if r.Policy == "fs2" {
		work, outside = filepath.Join(root, "a"), []string{"a/out"}
	}
	if err := os.WriteFile(filepath.Join(root, "canary"), []byte("OUT"), 0o640); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(root, "out")); err == nil && info.IsDir() {
		if err := os.WriteFile(filepath.Join(root, "out", "canary"), []byte("OUT"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	mark(t, root)
	config, err := json.Marshal(map[string]any{
		"working_directory": work, "tools": json.RawMessage(strings.ReplaceAll(string(policy.Tools), "${ROOT}", root)),
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "toolserver.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--config", file)
	late := time.AfterFunc(2*time.Minute+time.Duration(raceTries(t))*5*time.Millisecond, func() {
		t.Error("the server does not answer")
		s.cmd.Process.Kill()
	})
	defer late.Stop()
	path := strings.ReplaceAll(r.Path, "${ROOT}", root)
	if exchange != nil {
		r.race(s, path, exchange, func() map[string]string { return trace(t, root, outside...) })
		return
	}
	if r.Expected == "allow" {
		before := trace(t, root, outside...)
		r.allowed(s, path)
		unchanged(t, before, trace(t, root, outside...))
		return
	}
	before := trace(t, root)
	r.denied(s, path)
	unchanged(t, before, trace(t, root))
	if a := s.call("echo", map[string]any{"text": "here"}); a.Error == nil && a.Result.IsError {
		t.Errorf("the server is not well: %s", a.text())
	}
}

// use calls the tool that does what the row says.
func (r pathRow) use(s *toolClient, path string) answer {
	switch r.Op {
	case "read":
		return s.call("read_file", map[string]any{"path": path})
	case "write":
		return s.call("write_file", map[string]any{"path": path, "content": "new"})
	case "append":
		return s.call("append_file", map[string]any{"path": path, "content": "new"})
	case "edit":
		return s.call("edit_file", map[string]any{"path": path, "edits": []any{map[string]any{"old_text": "UT", "new_text": "new"}}})
	case "mkdir":
		return s.call("write_file", map[string]any{"path": path + "/new", "content": "new", "create_dirs": true})
	case "list":
		return s.call("list_directory", map[string]any{"path": path, "recursive": true})
	case "search":
		return s.call("search_files", map[string]any{"path": path, "pattern": "**/*", "include_hidden": true, "gitignore": false})
	case "grep":
		return s.call("grep", map[string]any{"path": path, "pattern": ".", "include_hidden": true, "gitignore": false})
	}
	s.t.Fatalf("unknown operation %q", r.Op)
	return answer{}
}

func (r pathRow) allowed(s *toolClient, path string) {
	s.t.Helper()
	before, err := os.Stat(path)
	a := r.use(s, path)
	if a.Error != nil || a.Result.IsError {
		s.t.Errorf("%s %s (%s): %s", r.Op, path, r.Technique, a.text())
	}
	if after, gone := os.Stat(path); err == nil && (gone != nil || after.Mode() != before.Mode()) {
		s.t.Errorf("%s had %v and has %v, %v", path, before.Mode(), after, gone)
	}
}

// content is what files hold that nobody may see.
var content = regexp.MustCompile(`(?m)(^|[:\s"+-])(OUT|EVIL|S=1|K)($|[\s"\\])|root:x?:0:|canary`)

// denied tries the row's tool and the others that could do as much.
func (r pathRow) denied(s *toolClient, path string) {
	s.t.Helper()
	others := map[string][]string{"read": {"edit", "append", "grep"}, "write": {"append", "edit"}, "append": {"write", "edit"}, "list": {"search", "grep"}, "search": {"grep", "list"}}[r.Op]
	for _, op := range append([]string{r.Op}, others...) {
		if op == "append" && r.Op == "read" && !strings.Contains(r.Technique, "hard link") {
			continue // what may not be read may perhaps be written
		}
		try := r
		try.Op = op
		a := try.use(s, path)
		refused := a.Error != nil || a.Result.IsError
		if looks := op == "list" || op == "search" || op == "grep"; !refused && (!looks || op == r.Op && r.Op != "search") {
			s.t.Errorf("%s %s (%s): %s", op, path, r.Technique, a.text())
		}
		all, err := json.Marshal(a)
		if err != nil {
			s.t.Fatal(err)
		}
		if seen := a.text() + "\n" + string(all); content.MatchString(strings.ReplaceAll(seen, path, "")) {
			s.t.Errorf("%s %s (%s) shows what it may not: %s", op, path, r.Technique, seen)
		}
		if op == "search" && strings.Contains(a.text(), "o.txt") {
			s.t.Errorf("the search has left its directory: %s", a.text())
		}
	}
}

// raceTries is how often each race is run; RACE_TRIES says how often in a soak.
func raceTries(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("RACE_TRIES"))
	if err != nil || n < 1000 {
		return 1000
	}
	return n
}

// race tries while the path is exchanged. Each try may reach what is allowed,
// and none may show or change what is not.
func (r pathRow) race(s *toolClient, path string, exchange func() func(), trace func() map[string]string) {
	s.t.Helper()
	ops := map[string][]string{"search": {"search", "grep"}, "list": {"list"}, "read": {"read", "grep"}, "write": {"write"}, "append": {"append"}}[r.Op]
	if ops == nil {
		s.t.Fatalf("no race with %q", r.Op)
	}
	before := trace()
	stop := exchange()
	hits := 0
	for i := range raceTries(s.t) {
		try := r
		try.Op = ops[i%len(ops)]
		a := try.use(s, path)
		if a.Error == nil && !a.Result.IsError {
			hits++
		}
		if all, err := json.Marshal(a); err != nil || content.Match(all) {
			s.t.Errorf("try %d: %s shows what it may not: %s", i, try.Op, all)
			break
		}
	}
	stop()
	unchanged(s.t, before, trace())
	s.t.Logf("%d tries reached what is allowed", hits)
}

// shortDir returns a fresh directory, free of links, whose path leaves room for
// that of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "c")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// quoted is one word of a line of a setup.
var quoted = regexp.MustCompile(`'([^']*)'|(\S+)`)

// plant makes what a line of a setup says. Of a race it returns what begins it.
func plant(t *testing.T, line string) (race func() (stop func())) {
	t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	at := quoted.FindStringSubmatchIndex(rest)
	if at == nil {
		t.Fatalf("setup %q", line)
	}
	path, arg := strings.Trim(rest[at[0]:at[1]], "'"), strings.Trim(strings.TrimPrefix(rest[at[1]:], " "), "'")
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		switch verb {
		case "dir":
			err = os.MkdirAll(path, 0o755)
		case "file":
			err = os.WriteFile(path, []byte(arg), 0o644)
		case "symlink":
			err = os.Symlink(arg, path)
		case "hardlink":
			err = os.Link(arg, path)
		case "fifo":
			err = unix.Mkfifo(path, 0o644)
		case "socket":
			var l net.Listener
			if l, err = net.Listen("unix", path); err == nil {
				t.Cleanup(func() { l.Close() })
			}
		case "race":
			other, target, ok := strings.Cut(strings.TrimPrefix(arg, "<-> "), "(symlink ")
			if !ok {
				t.Fatalf("setup %q", line)
			}
			err = os.Symlink(strings.TrimSuffix(target, ")"), other)
			race = func() func() { return exchanging(t, path, other) }
		default:
			err = errors.New("unknown verb")
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return race
}

// exchanging swaps two names over and over until stop is called, which leaves
// them as they were.
func exchanging(t *testing.T, a, b string) (stop func()) {
	t.Helper()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			for range 2 {
				if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
					t.Errorf("exchange: %v", err)
					return
				}
			}
			select {
			case <-quit:
				return
			default:
			}
		}
	}()
	return func() { close(quit); <-done }
}

// mark gives every file an attribute, where the file system has any.
func mark(t *testing.T, root string) {
	t.Helper()
	walkAll(t, root, func(path string, info os.FileInfo) {
		if info.Mode().IsRegular() {
			_ = unix.Setxattr(path, "user.mark", []byte("m"), 0) // not every file system can
		}
	})
}

// trace describes every file below root but in the directories that are left
// out: content and metadata, except when it was read.
func trace(t *testing.T, root string, without ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	left := map[string]bool{}
	for _, rel := range without {
		left[filepath.Join(root, rel)] = true
	}
	walkAll(t, root, func(path string, info os.FileInfo) {
		for dir := path; dir != root; dir = filepath.Dir(dir) {
			if left[dir] {
				return
			}
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			t.Fatal(err)
		}
		text := info.Mode().String() + " " + strconv.Itoa(int(st.Uid)) + ":" + strconv.Itoa(int(st.Gid)) + " links " + strconv.FormatUint(uint64(st.Nlink), 10) + " " +
			time.Unix(st.Mtim.Unix()).String() + " " + time.Unix(st.Ctim.Unix()).String()
		switch info.Mode().Type() {
		case 0:
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text += " " + string(b)
			attributes := make([]byte, 256)
			if n, err := unix.Listxattr(path, attributes); err == nil {
				text += " " + string(attributes[:n])
			}
		case os.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				t.Fatal(err)
			}
			text += " -> " + target
		}
		found[path] = text
	})
	return found
}

func walkAll(t *testing.T, root string, visit func(path string, info os.FileInfo)) {
	t.Helper()
	if err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			visit(path, info)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func unchanged(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, was := range before {
		if is, there := after[path]; is != was {
			t.Errorf("%s (there: %v)\nwas %s\nis  %s", path, there, was, is)
		}
	}
	for path := range after {
		if _, there := before[path]; !there {
			t.Errorf("%s is new", path)
		}
	}
}
