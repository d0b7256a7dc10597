// Package audit keeps a record of who did what that shows whether anybody has changed it: lines of JSON, each with the hash of the line
// before, and signed checkpoints.
package audit

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/toolserver/toolserver/domain/structschema"
	"github.com/toolserver/toolserver/osfile"
)

// Settings say what is kept, and where.
type Settings struct {
	File       string             `yaml:"file" path:"true"`
	Key        string             `yaml:"key_file" path:"true"`
	Arguments  string             `yaml:"arguments" enum:"none|digest|redacted"`
	OnFailure  string             `yaml:"on_failure" enum:"refuse|drop"`
	Sync       string             `yaml:"sync" enum:"group|each" template:"-"`
	Checkpoint time.Duration      `yaml:"checkpoint" min:"1s" max:"24h" template:"-"`
	Rotate     structschema.Bytes `yaml:"rotate" min:"4KiB"`
	Keep       int                `yaml:"keep" min:"0" template:"-"`
}

// DefaultSettings returns the settings of a configuration that says nothing.
func DefaultSettings() Settings {
	return Settings{Arguments: "digest", OnFailure: "refuse", Sync: "group", Checkpoint: time.Minute, Rotate: 256 << 20}
}

// Types of entries.
const (
	Open       = "open"       // a server begins to write, with what is known of the end of the file
	Close      = "close"      // it has ended
	Rotate     = "rotate"     // the last entry of a file
	Config     = "config"     // a configuration is in force
	SignIn     = "auth.fail"  // somebody could not authenticate
	Connect    = "connect"    // a client has begun a session
	Leave      = "leave"      // it has ended
	Revoked    = "revoked"    // a principal can no longer authenticate
	Console    = "console"    // somebody has done something on the console
	Approval   = "approval"   // somebody elsewhere has decided about a call
	Begin      = "call.begin" // of a call that may have an effect
	End        = "call.end"
	Checkpoint = "checkpoint" // signed
	Dropped    = "dropped"    // entries could not be written
)

// Entry is a line of the record. What is empty is left out.
type Entry struct {
	Version   int                 `json:"v"`
	Sequence  int64               `json:"seq"`
	Time      string              `json:"time"` // RFC 3339, UTC
	Type      string              `json:"type"`
	ID        string              `json:"id,omitempty"` // of a call
	Principal string              `json:"principal,omitempty"`
	Groups    []string            `json:"groups,omitempty"`
	Client    string              `json:"client,omitempty"`
	Session   string              `json:"session,omitempty"`
	Address   string              `json:"addr,omitempty"`
	Name      string              `json:"name,omitempty"` // of a tool, prompt or resource
	Server    string              `json:"server,omitempty"`
	Digest    string              `json:"args,omitempty"` // keyed, of the arguments
	Target    map[string][]string `json:"target,omitempty"`
	Outcome   string              `json:"outcome,omitempty"`
	Error     string              `json:"error,omitempty"`
	Rules     []string            `json:"rules,omitempty"` // that refused something
	Micros    int64               `json:"duration_us,omitempty"`
	In        int                 `json:"in,omitempty"`  // bytes of arguments
	Out       int                 `json:"out,omitempty"` // bytes of the result
	Policy    string              `json:"policy,omitempty"`
	Trace     string              `json:"trace_id,omitempty"` // of a call that is traced
	Span      string              `json:"span_id,omitempty"`
	Detail    string              `json:"detail,omitempty"`
	Count     int                 `json:"count,omitempty"`
	Note      string              `json:"note,omitempty"` // of a checkpoint
}

// origin begins the text of checkpoints.
const origin = "toolserver audit"

// Bounds of what waits to be written.
const (
	maxWaiting = 4096
	maxWait    = 2 * time.Second // for room, or until an entry is written
	syncPause  = 50 * time.Millisecond
	retryPause = time.Second
	every      = 1000 // entries between two checkpoints
)

// ErrUnavailable is the error of what is not done because it could not be recorded.
var ErrUnavailable = errors.New("the audit cannot be written, and what cannot be recorded is not done; ask the operator of this server")

// Log is a record that is written to. It is safe for concurrent use.
type Log struct {
	settings Settings
	signer   note.Signer // nil without a key
	secret   []byte      // for digests; nil without a key
	failed   func(error)

	entries chan waiting
	first   chan struct{} // one has come
	urgent  chan struct{} // somebody waits for one
	told    atomic.Bool   // first has been sent to since the last batch
	broken  atomic.Bool   // the last write failed
	dropped atomic.Int64

	kept, failures atomic.Int64 // see State
	pause          chan func()  // of tests
	stop           chan struct{}
	stopped        sync.Once
	done           chan struct{}

	// Of the goroutine that writes, once there is one:
	file       *os.File
	written    extent // what the file has
	next       extent // with the lines that come after that
	lines      []byte // that are not written yet
	lastSigned time.Time
	unsynced   bool
}

// extent is how far a record has come.
type extent struct {
	size     int64
	sequence int64
	head     [sha256.Size]byte // of the last line
	unsigned int               // entries since the last checkpoint
	admitted int64             // entries that could not be written, and are said to be missing
	entries  int64             // all but those that are about the record
}

type waiting struct {
	entry   Entry
	written chan error // gets what became of it; nil if nobody waits
}

// Start begins to write to the file of the settings, behind what it has. Failed is called when that fails, and when it works again with nil. The
// caller closes the log.
func Start(s Settings, failed func(error)) (*Log, error) {
	l := &Log{
		settings: s, failed: failed, entries: make(chan waiting, maxWaiting), first: make(chan struct{}, 1), urgent: make(chan struct{}, 1),
		pause: make(chan func()), stop: make(chan struct{}), done: make(chan struct{}), lastSigned: time.Now(),
	}
	if s.Key != "" {
		text, err := os.ReadFile(s.Key)
		if err != nil {
			return nil, fmt.Errorf("the key of the audit: %w", err)
		}
		key := strings.TrimSpace(string(text))
		if l.signer, err = note.NewSigner(key); err != nil {
			return nil, fmt.Errorf("the key of the audit, %s: %w; toolserver audit key makes one", s.Key, err)
		}
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte("arguments"))
		l.secret = mac.Sum(nil)
	}
	detail, err := l.open()
	if err != nil {
		return nil, err
	}
	l.line(Entry{Type: Open, Detail: detail})
	_ = l.put() // the next entry tells
	go l.write()
	return l, nil
}

// Digest returns a keyed hash of arguments: who has the key can find out whether they were these.
func (l *Log) Digest(arguments []byte) string {
	if l.secret == nil || l.settings.Arguments == "none" || len(arguments) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, l.secret)
	mac.Write(arguments)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// Targets reports whether entries have what a call is about.
func (l *Log) Targets() bool { return l.settings.Arguments == "redacted" }

// Ready returns why nothing may be done now.
func (l *Log) Ready() error {
	if l.broken.Load() && l.settings.OnFailure == "refuse" {
		return ErrUnavailable
	}
	return nil
}

// Add adds an entry. It waits only for room.
func (l *Log) Add(e Entry) { l.send(waiting{entry: e}) }

// Write adds an entry and waits until it is written. After an error the entry may be written later; what it is about must not be done.
func (l *Log) Write(e Entry) error {
	w := waiting{e, make(chan error, 1)}
	err := l.send(w)
	if err == nil {
		select {
		case err = <-w.written:
		case <-time.After(maxWait):
			err = ErrUnavailable
		}
	}
	if err != nil && l.settings.OnFailure == "refuse" {
		return ErrUnavailable
	}
	return nil
}

func (l *Log) send(w waiting) (err error) {
	w.entry.Time = time.Now().UTC().Format(time.RFC3339Nano)
	select {
	case l.entries <- w:
	default:
		timer := time.NewTimer(maxWait)
		defer timer.Stop()
		select {
		case l.entries <- w:
		case <-l.done:
			err = ErrUnavailable
		case <-timer.C:
			err = ErrUnavailable
		}
	}
	switch {
	case err != nil:
		l.dropped.Add(1)
	case w.written != nil, l.settings.Sync == "each", len(l.entries) > maxWaiting/2:
		signal(l.urgent)
	case !l.told.Swap(true):
		signal(l.first)
	}
	return err
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// State returns how many entries were written since the start, how often that failed, and how many wait.
func (l *Log) State() (written, failures, waiting int64) {
	return l.kept.Load(), l.failures.Load(), int64(len(l.entries))
}

// Close writes what waits, and ends the record.
func (l *Log) Close() {
	l.stopped.Do(func() { close(l.stop) })
	<-l.done
}

// open opens the file and finds out where its chain ends. Detail says what is wrong with the end.
func (l *Log) open() (detail string, err error) {
	f, err := os.OpenFile(l.settings.File, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return "", fmt.Errorf("the audit: %w", err)
	}
	if locked, err := osfile.TryLock(f); err != nil || !locked {
		f.Close()
		return "", errors.Join(fmt.Errorf("the audit: another process writes to %s; each server needs a file of its own", l.settings.File), err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return "", err
	}
	l.file, l.next, l.lines = f, extent{size: info.Size()}, nil
	size := info.Size()
	if l.written = l.next; size == 0 {
		return "", nil
	}
	const most = 1 << 20
	tail := make([]byte, min(size, most))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		f.Close()
		return "", err
	}
	if !bytes.HasSuffix(tail, []byte("\n")) {
		detail = "the last entry was interrupted"
		if _, err := f.Write([]byte("\n")); err != nil {
			f.Close()
			return "", err
		}
		size++
	} else {
		tail = tail[:len(tail)-1]
	}
	lines := bytes.Split(tail, []byte("\n"))
	head := sha256.Sum256(lines[len(lines)-1])
	for i := len(lines) - 1; i >= 0; i-- {
		var e Entry
		if json.Unmarshal(lines[i], &e) == nil && e.Version == 1 {
			l.next = extent{size: size, sequence: e.Sequence, head: head}
			l.written = l.next
			return detail, nil
		}
	}
	f.Close()
	return "", fmt.Errorf("the audit: %s ends with nothing that is an entry; move it away", l.settings.File)
}

// write writes entries until the log is closed: at once if somebody waits for one, and else all of a while together, which costs a call less.
func (l *Log) write() {
	defer close(l.done)
	due, at := time.NewTimer(l.settings.Checkpoint), time.Now().Add(l.settings.Checkpoint)
	within := func(d time.Duration) { // who writes again and again does not put it off
		if then := time.Now().Add(d); then.Before(at) {
			at = then
			due.Reset(d)
		}
	}
	for {
		select {
		case <-l.first:
			within(syncPause)
			continue
		case <-l.urgent:
			l.batch()
		case <-due.C:
			at = time.Now().Add(l.settings.Checkpoint)
			due.Reset(l.settings.Checkpoint)
			if l.batch(); l.next.unsigned > 0 && time.Since(l.lastSigned) >= l.settings.Checkpoint {
				l.sign()
				_ = l.put()
			}
			l.sync()
		case do := <-l.pause:
			l.batch()
			do()
		case <-l.stop:
			l.batch()
			l.line(Entry{Type: Close})
			l.sign()
			_ = l.put()
			l.sync()
			l.file.Close()
			return
		}
		if l.unsynced || len(l.entries) > 0 {
			within(syncPause)
		} else if l.dropped.Load() > 0 {
			within(retryPause)
		}
	}
}

// batch writes what waits, all or nothing. What cannot be written is counted; the first line that can be says how much that is.
func (l *Log) batch() {
	l.told.Store(false)
	left := len(l.entries)
	for again := true; again; again = left > 0 {
		if n := l.dropped.Load(); n > 0 {
			l.line(Entry{Type: Dropped, Count: int(n)})
			l.next.admitted = n
		}
		var asked []chan error
		for first := true; left > 0 && (first || l.next.size < int64(l.settings.Rotate)); first = false {
			w := <-l.entries
			left--
			l.line(w.entry)
			if l.next.entries++; w.written != nil {
				asked = append(asked, w.written)
			}
			if l.next.unsigned >= every {
				l.sign()
			}
		}
		err := l.put()
		for _, c := range asked {
			c <- err
		}
		if l.settings.Sync == "each" {
			l.sync()
		}
		if l.next.size >= int64(l.settings.Rotate) {
			l.rotate()
		}
	}
}

// line adds a line to those that are written next.
func (l *Log) line(e Entry) {
	e.Version, e.Sequence, e.Time = 1, l.next.sequence+1, cmp.Or(e.Time, time.Now().UTC().Format(time.RFC3339Nano))
	b, _ := json.Marshal(e) // no value of these types fails
	begin := len(l.lines)
	l.lines = append(append(l.lines, b[:len(b)-1]...), `,"prev":"`...)
	l.lines = append(hex.AppendEncode(l.lines, l.next.head[:]), `"}`...)
	l.next.sequence, l.next.head = e.Sequence, sha256.Sum256(l.lines[begin:])
	l.lines = append(l.lines, '\n')
	l.next.size += int64(len(l.lines) - begin)
	if e.Type != Checkpoint {
		l.next.unsigned++
	}
}

// put writes the lines there are, whole or not at all.
func (l *Log) put() error {
	if len(l.lines) == 0 {
		return nil
	}
	err := osfile.Append(l.file, l.lines)
	if was := l.broken.Swap(err != nil); was != (err != nil) {
		l.failed(err)
	}
	if err != nil {
		l.failures.Add(1)
		l.dropped.Add(l.next.entries)
		l.next = l.written
	} else {
		l.kept.Add(l.next.sequence - l.written.sequence)
		l.dropped.Add(-l.next.admitted)
		l.next.admitted, l.next.entries, l.unsynced = 0, 0, true
		l.written = l.next
	}
	l.lines = l.lines[:0]
	return err
}

func (l *Log) sync() {
	l.unsynced = l.unsynced && l.file.Sync() != nil
}

// sign writes a checkpoint: a signed note (C2SP) of how many entries there are, and of the hash of the last.
func (l *Log) sign() {
	l.next.unsigned, l.lastSigned = 0, time.Now()
	if l.signer == nil {
		return
	}
	text := fmt.Sprintf("%s\n%d\n%s\n", origin, l.next.sequence, base64.StdEncoding.EncodeToString(l.next.head[:]))
	if signed, err := note.Sign(&note.Note{Text: text}, l.signer); err == nil {
		l.line(Entry{Type: Checkpoint, Note: string(signed)})
	}
}

// rotate goes on in a new file. The old one has the number of its last entry in its name.
func (l *Log) rotate() {
	l.line(Entry{Type: Rotate})
	l.sign()
	if l.put() != nil {
		return // and try again with the next entries
	}
	_ = l.file.Sync()
	ext := filepath.Ext(l.settings.File)
	base := strings.TrimSuffix(l.settings.File, ext)
	old, before := l.file, l.written
	before.size = 0 // where it cannot go on elsewhere, it tries again when as much has been written once more
	if err := os.Rename(l.settings.File, fmt.Sprintf("%s-%015d%s", base, before.sequence, ext)); err != nil {
		l.written, l.next = before, before
		return
	}
	_, err := l.open()
	if l.written, l.next = before, before; err != nil { // the old file has another name, and is written to as long as there is no new one
		l.file = old
		l.failed(err)
		return
	}
	old.Close()
	l.line(Entry{Type: Open})
	if files, _ := filepath.Glob(base + "-" + strings.Repeat("[0-9]", 15) + ext); l.settings.Keep > 0 && len(files) > l.settings.Keep {
		for _, file := range files[:len(files)-l.settings.Keep] { // by number
			if os.Remove(file) == nil {
				l.line(Entry{Type: Rotate, Detail: "removed " + filepath.Base(file)})
			}
		}
	}
	_ = l.put()
}
