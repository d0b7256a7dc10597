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
	broken  atomic.Bool // the last write failed
	dropped atomic.Int64
	pause   chan func() // of tests
	stop    chan struct{}
	stopped sync.Once
	done    chan struct{}

	// Of the goroutine that writes, once there is one:
	file       *os.File
	size       int64
	sequence   int64
	head       [sha256.Size]byte // of the last line
	unsigned   int               // entries since the last checkpoint
	lastSigned time.Time
	tried      time.Time // to write again after a failure
	unsynced   bool
}

type waiting struct {
	entry   Entry
	written chan error // gets what became of it; nil if nobody waits
}

// Start begins to write to the file of the settings, behind what it has. Failed is called when that fails, and when it works again with nil. The
// caller closes the log.
func Start(s Settings, failed func(error)) (*Log, error) {
	l := &Log{
		settings: s, failed: failed, entries: make(chan waiting, maxWaiting), pause: make(chan func()), stop: make(chan struct{}), done: make(chan struct{}),
		lastSigned: time.Now(),
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
	l.must(Entry{Type: Open, Detail: detail})
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

func (l *Log) send(w waiting) error {
	w.entry.Time = time.Now().UTC().Format(time.RFC3339Nano)
	select {
	case l.entries <- w:
		return nil
	default:
	}
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case l.entries <- w:
		return nil
	case <-l.done:
	case <-timer.C:
	}
	l.dropped.Add(1)
	return ErrUnavailable
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
	l.file, l.size = f, info.Size()
	if l.size == 0 {
		return "", nil
	}
	const most = 1 << 20
	tail := make([]byte, min(l.size, most))
	if _, err := f.ReadAt(tail, l.size-int64(len(tail))); err != nil && err != io.EOF {
		f.Close()
		return "", err
	}
	if !bytes.HasSuffix(tail, []byte("\n")) {
		detail = "the last entry was interrupted"
		if _, err := f.Write([]byte("\n")); err != nil {
			f.Close()
			return "", err
		}
		l.size++
	} else {
		tail = tail[:len(tail)-1]
	}
	lines := bytes.Split(tail, []byte("\n"))
	l.head = sha256.Sum256(lines[len(lines)-1])
	for i := len(lines) - 1; i >= 0; i-- {
		var e Entry
		if json.Unmarshal(lines[i], &e) == nil && e.Version == 1 {
			l.sequence = e.Sequence
			return detail, nil
		}
	}
	f.Close()
	return "", fmt.Errorf("the audit: %s ends with nothing that is an entry; move it away", l.settings.File)
}

// write writes entries until the log is closed.
func (l *Log) write() {
	defer close(l.done)
	tick := time.NewTicker(syncPause)
	defer tick.Stop()
	for {
		select {
		case w := <-l.entries:
			l.take(w)
		case now := <-tick.C:
			l.look(now)
		case do := <-l.pause:
			do()
		case <-l.stop:
			for len(l.entries) > 0 {
				l.take(<-l.entries)
			}
			_ = l.append(Entry{Type: Close})
			l.sign()
			l.sync()
			l.file.Close()
			return
		}
	}
}

func (l *Log) take(w waiting) {
	err := l.append(w.entry)
	if w.written != nil {
		w.written <- err
	}
	if l.settings.Sync == "each" {
		l.sync()
	}
}

// look does what is due: a checkpoint, the disk, and another try to write.
func (l *Log) look(now time.Time) {
	if l.unsigned > 0 && now.Sub(l.lastSigned) >= l.settings.Checkpoint {
		l.sign()
	}
	if l.dropped.Load() > 0 && now.Sub(l.tried) >= retryPause {
		l.tried = now
		l.admit()
	}
	l.sync()
}

// admit writes how many entries could not be written, if there are any.
func (l *Log) admit() {
	if n := l.dropped.Load(); n > 0 && l.line(Entry{Type: Dropped, Count: int(n)}) == nil {
		l.dropped.Add(-n)
	}
}

// must writes an entry whose failure the next one tells.
func (l *Log) must(e Entry) { _ = l.line(e) }

func (l *Log) sync() {
	if l.unsynced && l.file.Sync() == nil {
		l.unsynced = false
	}
}

// append writes an entry. One that cannot be written now waits, if that is what the settings say, and the others behind it.
func (l *Log) append(e Entry) error {
	l.admit()
	if err := l.line(e); err != nil {
		l.dropped.Add(1)
		return err
	}
	if l.unsigned >= every {
		l.sign()
	}
	if l.size >= int64(l.settings.Rotate) {
		l.rotate()
	}
	return nil
}

// line writes one line, whole or not at all.
func (l *Log) line(e Entry) error {
	e.Version, e.Sequence, e.Time = 1, l.sequence+1, cmp.Or(e.Time, time.Now().UTC().Format(time.RFC3339Nano))
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	b = append(b[:len(b)-1], `,"prev":"`...)
	b = hex.AppendEncode(b, l.head[:])
	b = append(b, "\"}\n"...)
	err = osfile.Append(l.file, b)
	if was := l.broken.Swap(err != nil); was != (err != nil) {
		l.failed(err)
	}
	if err != nil {
		return err
	}
	l.sequence, l.head, l.unsynced = e.Sequence, sha256.Sum256(b[:len(b)-1]), true
	l.size += int64(len(b))
	if e.Type != Checkpoint {
		l.unsigned++
	}
	return nil
}

// sign writes a checkpoint: a signed note (C2SP) of how many entries there are, and of the hash of the last.
func (l *Log) sign() {
	l.unsigned, l.lastSigned = 0, time.Now()
	if l.signer == nil {
		return
	}
	text := fmt.Sprintf("%s\n%d\n%s\n", origin, l.sequence, base64.StdEncoding.EncodeToString(l.head[:]))
	signed, err := note.Sign(&note.Note{Text: text}, l.signer)
	if err == nil {
		_ = l.line(Entry{Type: Checkpoint, Note: string(signed)})
	}
}

// rotate goes on in a new file. The old one has the number of its last entry in its name.
func (l *Log) rotate() {
	l.must(Entry{Type: Rotate})
	l.sign()
	_ = l.file.Sync()
	ext := filepath.Ext(l.settings.File)
	base := strings.TrimSuffix(l.settings.File, ext)
	if err := os.Rename(l.settings.File, fmt.Sprintf("%s-%015d%s", base, l.sequence, ext)); err != nil {
		l.size = 0 // and try again when as much has been written once more
		return
	}
	old, head, sequence := l.file, l.head, l.sequence
	if _, err := l.open(); err != nil { // the old file has another name, and is written to as long as there is no new one
		l.file, l.size = old, 0
		l.failed(err)
		return
	}
	old.Close()
	l.head, l.sequence = head, sequence
	l.must(Entry{Type: Open})
	if files, _ := filepath.Glob(base + "-" + strings.Repeat("[0-9]", 15) + ext); l.settings.Keep > 0 && len(files) > l.settings.Keep {
		for _, file := range files[:len(files)-l.settings.Keep] { // by number
			if os.Remove(file) == nil {
				l.must(Entry{Type: Rotate, Detail: "removed " + filepath.Base(file)})
			}
		}
	}
}
