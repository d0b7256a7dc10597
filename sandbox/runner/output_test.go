package runner_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolserver/toolserver/sandbox/runner"
)

func TestOutputCut(t *testing.T) {
	r := newRunner(t, "", runner.Options{})
	req := shell("for i in {1..1000}; do echo line $i; done")
	req.Limits.Inline = 100
	res := mustRun(t, r, req)
	head, cut, tail := res.Output.Parts(1 << 20)
	text := res.Output.Text()
	if !strings.HasPrefix(head, "line 1\nline 2\n") || !strings.HasSuffix(tail, "line 999\nline 1000\n") || !res.Output.Truncated() {
		t.Errorf("got %q", text)
	}
	if int64(len(head)+len(tail))+cut.Bytes != res.Output.Total() || int64(strings.Count(head+tail, "\n"))+cut.Lines != 1000 {
		t.Errorf("head %d, cut %+v, tail %d of %d", len(head), cut, len(tail), res.Output.Total())
	}
	whole, err := io.ReadAll(io.NewSectionReader(res.Output, 0, res.Output.Size()))
	if err != nil || int64(len(whole)) != res.Output.Total() || strings.Count(string(whole), "\n") != 1000 {
		t.Errorf("read %d of %d: %v", len(whole), res.Output.Total(), err)
	}
	if err := res.Close(); err != nil || res.Output.Text() != text {
		t.Errorf("after Close: %v", err)
	}
}

// Where lines are short, none is cut in two, also if less is asked for than is kept.
func TestOutputLines(t *testing.T) {
	r := newRunner(t, "", runner.Options{})
	req := shell("seq 1 1000")
	req.Limits.Inline = 500
	res := mustRun(t, r, req)
	whole := make([]byte, res.Output.Total())
	if _, err := res.Output.ReadAt(whole, 0); err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{10, 60, 61, 499, 500, 1 << 20} {
		head, cut, tail := res.Output.Parts(most)
		if !strings.HasPrefix(string(whole), head) || !strings.HasSuffix(string(whole), tail) || len(head)+len(tail) > most || len(head)+len(tail) < min(most, 500)/2 ||
			!strings.HasSuffix(head, "\n") || tail[0] == '\n' || int64(strings.Count(head+tail, "\n"))+cut.Lines != 1000 || whole[len(whole)-len(tail)-1] != '\n' {
			t.Errorf("%d: %q, %+v, %q", most, head, cut, tail)
		}
	}
	for _, most := range []int{0, 1, 7} {
		if head, cut, tail := res.Output.Parts(most); len(head)+len(tail) > most || cut.Bytes != res.Output.Total()-int64(len(head)+len(tail)) {
			t.Errorf("%d: %q, %+v, %q", most, head, cut, tail)
		}
	}
}

// Where the cut falls into a character the character is left out whole.
func TestOutputRunes(t *testing.T) {
	r := newRunner(t, "", runner.Options{})
	const text = "aä€😀"
	for inline := 1; inline < 40; inline++ {
		req := shell("printf '" + strings.Repeat(text, 10) + "'")
		req.Limits.Inline = inline
		res := mustRun(t, r, req)
		if got := res.Output.Text(); strings.Contains(got, "\uFFFD") || !utf8.ValidString(got) {
			t.Errorf("%d bytes: %q", inline, got)
		}
		for _, size := range []int{0, 1, 4, 5, 7, 64} {
			var all strings.Builder
			for offset := int64(0); ; {
				page, err := res.Output.Page(offset, size)
				if err != nil || page.Start != offset {
					t.Fatalf("at %d: %+v %v", offset, page, err)
				}
				if page.Next == offset {
					break
				}
				all.WriteString(page.Text)
				offset = page.Next
			}
			if got := all.String(); got != strings.Repeat(text, 10) {
				t.Fatalf("pages of %d with %d bytes in memory: %q", size, inline, got)
			}
		}
	}
}

// Pages go on behind what was not kept.
func TestOutputGap(t *testing.T) {
	r := newRunner(t, "", runner.Options{})
	for _, spill := range []int64{-1, 10, 1000, 1001, 1002} {
		req := shell("for i in {1..1000}; do printf ä; done; printf end")
		req.Limits = runner.Limits{Inline: 20, Spill: spill}
		res := mustRun(t, r, req)
		var got strings.Builder
		skipped := int64(0)
		for offset := int64(0); ; {
			page, err := res.Output.Page(offset, 100)
			if err != nil {
				t.Fatal(err)
			}
			skipped += page.Start - offset
			got.WriteString(page.Text)
			if page.Next == offset {
				break
			}
			offset = page.Next
		}
		if !strings.HasSuffix(got.String(), "äend") || skipped == 0 || res.Output.Size() >= res.Output.Total() {
			t.Errorf("spill %d: skipped %d of %d, %q", spill, skipped, res.Output.Total(), got.String())
		}
	}
}

func TestSplit(t *testing.T) {
	r := newRunner(t, "", runner.Options{})
	req := shell("echo out; sleep 0.1; echo err >&2")
	for split, want := range map[bool][3]string{false: {"out\nerr\n", "", ""}, true: {"", "out\n", "err\n"}} {
		req.Split = split
		res := mustRun(t, r, req)
		if got := [3]string{res.Output.Text(), res.Stdout.Text(), res.Stderr.Text()}; got != want {
			t.Errorf("split %t: %q", split, got)
		}
	}
}

// A GiB of output costs the memory of a few buffers, and is counted.
func TestHugeOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 1 GiB through a pipe")
	}
	r := newRunner(t, "", runner.Options{})
	mustRun(t, r, shell("true"))
	before := peakMemory(t)
	req := runner.Request{Argv: []string{"head", "-c", "1G", "/dev/zero"}, Timeout: time.Minute}
	res := mustRun(t, r, req)
	if res.Output.Total() != 1<<30 || res.Code != 0 || res.Output.Size() != 64<<20 || len(res.Output.Text()) > 31_000 {
		t.Errorf("got %+v: total %d, kept %d", res, res.Output.Total(), res.Output.Size())
	}
	if grown := peakMemory(t) - before; grown > 16<<20 {
		t.Errorf("1 GiB of output took %d KiB of memory", grown>>10)
	}
	req = runner.Request{Argv: []string{"yes"}, Timeout: 300 * time.Millisecond}
	if res := mustRun(t, r, req); !res.TimedOut || res.Output.Total() < 1<<20 || !strings.HasSuffix(res.Output.Text(), "\n") {
		t.Errorf("yes: %+v, total %d", res, res.Output.Total())
	}
}

// peakMemory returns the peak of the resident memory of this process.
func peakMemory(t *testing.T) int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("no /proc on %s", runtime.GOOS)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// A slow reader of the live output does not slow the command down.
func TestLiveOutput(t *testing.T) {
	r := newRunner(t, "", runner.Options{})
	var got strings.Builder
	req := shell("printf 'a\\303'; sleep 0.05; printf '\\244b'")
	req.OnOutput = func(text string) { got.WriteString(text) }
	if mustRun(t, r, req); got.String() != "aäb" {
		t.Errorf("got %q", got.String())
	}
	release := make(chan struct{})
	req = shell("head -c 20M /dev/zero; echo done >&2")
	var passed atomic.Int64
	req.OnOutput = func(text string) {
		<-release
		passed.Add(int64(len(text)))
	}
	res := mustRun(t, r, req)
	close(release)
	if passed.Load() > 10<<20 || res.Output.Total() != 20<<20+5 {
		t.Errorf("passed on %d of %d", passed.Load(), res.Output.Total())
	}
}

func TestJobs(t *testing.T) {
	r := newRunner(t, "", runner.Options{MaxJobs: 2})
	ctx := t.Context()
	job, err := r.Start(ctx, "alice", shell("echo one; read x <&0; echo two; sleep 100"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	offset := int64(0)
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(text.String(), "two\n") && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		page, err := job.Output().Page(offset, 3)
		if err != nil || page.Start != offset {
			t.Fatalf("%+v %v", page, err)
		}
		text.WriteString(page.Text)
		offset = page.Next
	}
	if text.String() != "one\ntwo\n" {
		t.Errorf("got %q", text.String())
	}
	if _, ok, _ := job.Result(); ok {
		t.Error("the job has ended")
	}
	if theirs := r.Jobs("bob"); len(theirs) > 0 {
		t.Errorf("jobs of another: %v", theirs)
	}
	if own := r.Jobs("alice"); len(own) != 1 || own[0] != job {
		t.Errorf("own jobs: %v", own)
	}
	second, err := r.Start(ctx, "alice", shell("sleep 100"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(ctx, "alice", shell("true")); !errors.Is(err, runner.ErrTooManyJobs) {
		t.Errorf("a third job: %v", err)
	}
	if _, err := r.Start(ctx, "bob", runner.Request{Argv: []string{"no-such-program"}}); err == nil {
		t.Error("a job that cannot start has started")
	}
	job.Stop()
	res, ok, err := job.Result()
	if !ok || err != nil || !res.Canceled || job.Output().Text() != "one\ntwo\n" {
		t.Errorf("stopped: %+v %v %v", res, ok, err)
	}
	third, err := r.Start(ctx, "alice", shell("exit 3")) // in the place of the finished one
	if err != nil {
		t.Fatal(err)
	}
	<-third.Done()
	if res, _, _ := third.Result(); res.Code != 3 {
		t.Errorf("third: %+v", res)
	}
	r.EndSession("alice")
	if res, ok, _ := second.Result(); !ok || !res.Canceled || len(r.Jobs("alice")) != 0 {
		t.Errorf("after EndSession: %+v, %d jobs", res, len(r.Jobs("alice")))
	}
}

// A job runs on when the call that started it is over, and ends by its age.
func TestJobAge(t *testing.T) {
	r := newRunner(t, "", runner.Options{MaxAge: 300 * time.Millisecond})
	req := shell("sleep 100")
	req.Timeout = time.Hour
	job, err := r.Start(t.Context(), "alice", req)
	if err != nil {
		t.Fatal(err)
	}
	<-job.Done()
	if res, _, _ := job.Result(); !res.TimedOut {
		t.Errorf("got %+v", res)
	}
	deadline := time.Now().Add(10 * time.Second)
	for len(r.Jobs("alice")) > 0 && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	if n := len(r.Jobs("alice")); n > 0 {
		t.Errorf("%d finished jobs are remembered for ever", n)
	}
}
