package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolserver/toolserver/test/fakes/walktest"
)

// search is a call and the command that finds the same.
type search struct {
	what    string
	req     request
	count   string // how the answer says how many it found
	command []string
}

var searches = []search{
	{"grep, literal", call("grep", `{"pattern":"needleLiteral","mode":"count","max_results":10000}`), `"files":%d`,
		[]string{"rg", "-uuu", "-c", "needleLiteral", "."}},
	{"grep, regexp", call("grep", `{"pattern":"foo[A-Z]+bar","mode":"count","max_results":10000}`), `"files":%d`,
		[]string{"rg", "-uuu", "-c", "foo[A-Z]+bar", "."}},
	{"grep, regexp without a literal", call("grep", `{"pattern":"[0-9]{4}-[0-9]{2}","mode":"count","max_results":10000}`), `"files":%d`,
		[]string{"rg", "-uuu", "-c", "[0-9]{4}-[0-9]{2}", "."}},
	{"grep, ignoring case", call("grep", `{"pattern":"NEEDLElITERAL","ignore_case":true,"mode":"count","max_results":10000}`), `"files":%d`,
		[]string{"rg", "-uuu", "-c", "-i", "NEEDLElITERAL", "."}},
	{"search_files **/config_*.go", call("search_files", `{"pattern":"**/config_*.go","max_results":10000}`), `"count":%d`,
		[]string{"find", ".", "-name", "config_*.go"}},
	{"search_files **/config_*.go", call("search_files", `{"pattern":"**/config_*.go","max_results":10000}`), `"count":%d`,
		[]string{"rg", "--files", "-uuu", "-g", "**/config_*.go", "."}},
}

// measureWalk compares searching a tree, through the server, with the programs people use
// for it.
func measureWalk(ctx context.Context, l *lab) error {
	dir, err := l.dir("searched")
	if err != nil {
		return err
	}
	if err := walktest.Build(dir, l.files); err != nil {
		return err
	}
	var errs []error
	for _, s := range searches {
		if err := l.compareSearch(ctx, dir, l.files, s); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.what, err))
		}
	}
	if err := l.compareLargeFile(ctx); err != nil {
		errs = append(errs, fmt.Errorf("a large file: %w", err))
	}
	return errors.Join(errs...)
}

// compareLargeFile adds the search of one file.
func (l *lab) compareLargeFile(ctx context.Context) error {
	dir, err := l.dir("large")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "large.txt"))
	if err != nil {
		return err
	}
	defer f.Close()
	const mebibyte = 1 << 20
	text := sourceText(mebibyte-1) + "\n"
	for range l.mebibytes {
		if _, err := f.WriteString(text); err != nil {
			return err
		}
	}
	if _, err := f.WriteString("needleLiteral\n"); err != nil {
		return err
	}
	s := searches[0]
	s.what = fmt.Sprintf("%s, one file of %d MiB", s.what, l.mebibytes)
	return l.compareSearch(ctx, dir, 1, s)
}

// compareSearch adds a search to the table.
func (l *lab) compareSearch(ctx context.Context, dir string, files int, s search) error {
	program := s.command[0]
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%w: install it to compare with it", err)
	}
	server, err := l.start(ctx, dir, "toolserver", l.server, "serve", "--stdio", dir)
	if err != nil {
		return err
	}
	defer server.stop()
	if err := server.handshake(); err != nil {
		return err
	}
	if err := sameFound(ctx, dir, server, s); err != nil {
		return err
	}
	c, err := compare(l.rounds, []target{
		{"toolserver", func() (sample, error) { return server.load(s.req, 1, 0) }}, // once
		{program, func() (sample, error) { return commandOnce(ctx, dir, s.command) }},
	})
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("%s, %d files", s.what, files), c, atMost("CPU to "+strings.Join(s.command, " "), c.ratio("toolserver", program, cpu), 1, times))
	return nil
}

// sameFound checks that the server finds as many as the command does.
func sameFound(ctx context.Context, dir string, server *process, s search) error {
	cmd := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	answer, err := server.once(s.req)
	if err != nil {
		return err
	}
	want := fmt.Sprintf(s.count, bytes.Count(out, []byte("\n")))
	if !bytes.Contains(answer, []byte(want)) {
		return fmt.Errorf("%s finds %s and the server answers %.200s ... %s", s.command[0], want, answer, answer[max(0, len(answer)-200):])
	}
	return nil
}

// commandOnce runs a command and takes the processor time of its threads.
func commandOnce(ctx context.Context, dir string, argv []string) (sample, error) {
	begin := time.Now()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	if _, err := cmd.Output(); err != nil { // read, as some do less when nobody does
		return sample{}, err
	}
	return sample{p50: time.Since(begin), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}
