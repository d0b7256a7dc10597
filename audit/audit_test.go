package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// begin starts a record with a key, and returns how to verify it.
func begin(t testing.TB, change func(*Settings)) (l *Log, s Settings, public string) {
	t.Helper()
	dir := t.TempDir()
	s = DefaultSettings()
	s.File, s.Key = filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "key")
	private, public, err := NewKey("test")
	if err == nil {
		err = os.WriteFile(s.Key, []byte(private+"\n"), 0o600)
	}
	if same, err := PublicKey(private); err != nil || same != public {
		t.Fatal(same, err)
	}
	if change != nil {
		change(&s)
	}
	if err == nil {
		l, err = Start(s, func(err error) { t.Log(err) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return l, s, public
}

// TestTampered changes a record in all the ways there are.
func TestTampered(t *testing.T) {
	l, s, public := begin(t, nil)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 300 {
				l.Add(Entry{Type: End, ID: fmt.Sprint(i, "-", j), Principal: "token:ann", Name: "bash", Digest: l.Digest([]byte("x"))})
			}
		})
	}
	all.Wait()
	l.Close()
	whole, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Verify([]string{s.File}, public, nil)
	if err != nil || v.Entries != 2+2400+3 || !v.Ended || v.Signed != v.Last-1 {
		t.Fatalf("%+v, %v", v, err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	var last Entry
	if err := json.Unmarshal(lines[len(lines)-2], &last); err != nil || last.Type != Checkpoint {
		t.Fatal(err, last)
	}
	_, other, _ := NewKey("test")
	join := func(parts ...[][]byte) (b []byte) {
		for _, p := range parts {
			b = append(b, bytes.Join(p, nil)...)
		}
		return b
	}
	flipped := bytes.Clone(whole)
	flipped[len(whole)/2] ^= 1
	for name, test := range map[string]struct {
		content []byte
		public  string
		known   []string
		want    string
	}{
		"one bit":              {flipped, public, nil, "changed:"},
		"a line is missing":    {join(lines[:100], lines[101:]), public, nil, "missing:"},
		"two lines change":     {join(lines[:100], [][]byte{lines[101], lines[100]}, lines[102:]), public, nil, "missing:"},
		"a line is repeated":   {join(lines[:101], lines[100:]), public, nil, "reordered:"},
		"the tail is cut off":  {join(lines[:1500]), public, []string{last.Note}, "cut off:"},
		"another key":          {whole, other, nil, "other key:"},
		"a line is made up":    {join(lines[:100], [][]byte{[]byte("{}\n")}, lines[100:]), public, nil, "changed:"},
		"nothing":              {whole, public, []string{last.Note}, ""},
		"cut off, with no one": {join(lines[:1500]), public, nil, ""},
	} {
		if err := os.WriteFile(s.File, test.content, 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := Verify([]string{s.File}, test.public, test.known)
		fault, found := errors.AsType[*Fault](err)
		if test.want != "" && (!found || !strings.HasPrefix(fault.Problem, test.want)) || test.want == "" && err != nil {
			t.Errorf("%s: %v, %+v", name, err, v)
		}
		if test.want == "" && name != "nothing" && v.Ended {
			t.Errorf("%s: it has ended", name)
		}
	}
}

// TestCrash goes on behind what a crash leaves.
func TestCrash(t *testing.T) {
	for _, left := range []string{"", `{"v":1,"seq":`, "\x00\x00"} {
		l, s, public := begin(t, nil)
		l.Add(Entry{Type: End, ID: "1"})
		if _, err := Start(s, nil); err == nil || !strings.Contains(err.Error(), "another process") {
			t.Error("two processes write to one file:", err)
		}
		l.Close()
		f, err := os.OpenFile(s.File, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(left)
		}
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
		again, err := Start(s, func(error) {})
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Write(Entry{Type: Begin, ID: "2"}); err != nil {
			t.Error(err)
		}
		again.Close()
		if v, err := Verify([]string{s.File}, public, nil); err != nil || !v.Ended || (v.Interrupted == 1) != (left != "") {
			t.Errorf("%q: %+v, %v", left, v, err)
		}
	}
}

// TestRotate has the chain go on from file to file.
func TestRotate(t *testing.T) {
	l, s, public := begin(t, func(s *Settings) { s.Rotate, s.Keep = 8<<10, 3 })
	for i := range 500 {
		l.Add(Entry{Type: End, ID: fmt.Sprint(i)})
	}
	l.Close()
	files, err := Files(s.File)
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	if v, err := Verify(files, public, nil); err != nil || !v.Ended {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := Verify(append(files[:1:1], files[2:]...), public, nil); err == nil || !strings.Contains(err.Error(), "missing:") {
		t.Errorf("a file is missing: %v", err)
	}
}

// TestFull writes to a device that is full.
func TestFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no device that is full")
	}
	for _, policy := range []string{"refuse", "drop"} {
		l, _, _ := begin(t, func(s *Settings) { s.OnFailure, s.Key = policy, "" })
		full, err := os.OpenFile("/dev/full", os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Write(Entry{Type: Begin}); err != nil { // the file is open by now
			t.Fatal(err)
		}
		good := l.file
		l.swap(full)
		refused := policy == "refuse"
		if err := l.Write(Entry{Type: Begin}); (err != nil) != refused || (l.Ready() != nil) != refused {
			t.Errorf("%s: %v, %v", policy, err, l.Ready())
		}
		l.swap(good)
		l.Close()
		text, err := os.ReadFile(good.Name())
		if err != nil || !strings.Contains(string(text), `"type":"dropped"`) {
			t.Errorf("%s: %v\n%s", policy, err, text)
		}
	}
}

// swap has the next entries written elsewhere, once those before are.
func (l *Log) swap(f *os.File) {
	done := make(chan struct{})
	l.pause <- func() { l.file = f; close(done) }
	<-done
}

// TestOCSF maps entries.
func TestOCSF(t *testing.T) {
	for kind, want := range map[string]string{End: `"type_uid":600399`, SignIn: `"type_uid":300201`, Open: ""} {
		e := Entry{Type: kind, Time: "2026-11-28T10:00:00.5Z", Principal: "token:ann", Outcome: "ok", Groups: []string{"eng"}}
		b, err := e.OCSF("1", []byte("x\n"))
		if err != nil || (want == "") != (b == nil) || !strings.Contains(string(b), want) {
			t.Errorf("%s: %s, %v", kind, b, err)
		}
	}
}

func BenchmarkLog(b *testing.B) {
	l, _, _ := begin(b, nil)
	defer l.Close()
	e := Entry{Type: End, ID: "c0ffee-1", Principal: "https://idp.example.com#alice", Groups: []string{"eng"}, Client: "claude-code 2.1", Name: "bash", Outcome: "ok", Digest: strings.Repeat("a", 32)}
	b.Run("add", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l.Add(e)
		}
	})
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = l.Write(e)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	l, s, public := begin(b, nil)
	for range 20_000 {
		l.Add(Entry{Type: End, ID: "c0ffee-1", Principal: "token:ann", Name: "bash", Outcome: "ok"})
	}
	l.Close()
	for b.Loop() {
		v, err := Verify([]string{s.File}, public, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(v.Entries), "entries")
	}
}

// TestBusy has somebody write so often that there is no pause: checkpoints come in time all the same.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s, _ := begin(t, func(s *Settings) { s.Checkpoint = time.Second })
		for range 500 {
			if err := l.Write(Entry{Type: Begin}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(syncPause / 5)
		}
		text, err := os.ReadFile(s.File)
		if n := bytes.Count(text, []byte(`"type":"checkpoint"`)); err != nil || n < 3 {
			t.Errorf("%d checkpoints in five seconds: %v", n, err)
		}
		l.Close()
	})
}
