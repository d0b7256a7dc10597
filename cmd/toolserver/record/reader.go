package record

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/osfile"
)

// What entries are about that mean something to a [Reader]. Others are whatever the log says.
const (
	Start = "start" // what holds for the entries of the process after this one
	Begin = "begin" // a call that may have an effect is about to have it
	Call  = "call"  // a call was answered
)

// An Entry is one line. What a process does is joined with its start, and the begin of a call with its end.
type Entry struct {
	Time        time.Time           `json:"time"`
	What        string              `json:"what"`
	Run         string              `json:"run"` // of the process
	PID         int                 `json:"pid,omitempty"`
	ID          string              `json:"id,omitempty"` // of a call
	Tool        string              `json:"tool,omitempty"`
	Server      string              `json:"server,omitempty"`      // of a tool of another server,
	ServerTool  string              `json:"server_tool,omitempty"` // and its name there
	Principal   string              `json:"principal,omitempty"`
	Session     string              `json:"session,omitempty"`
	Client      string              `json:"client,omitempty"` // name and version, as it says
	Protocol    string              `json:"protocol,omitempty"`
	Target      map[string][]string `json:"target,omitempty"` // what a call is about
	Made        map[string][]string `json:"made,omitempty"`   // what came of it that its arguments do not say
	Outcome     string              `json:"outcome,omitempty"`
	ErrorType   string              `json:"error_type,omitempty"`
	Refused     []domain.Refusal    `json:"refused,omitempty"`
	Asked       json.RawMessage     `json:"asked,omitempty"`
	Took        float64             `json:"took,omitempty"` // milliseconds
	ArgsBytes   int                 `json:"args_bytes,omitempty"`
	ResultBytes int                 `json:"result_bytes,omitempty"`
	Directory   string              `json:"working_directory,omitempty"` // where relative paths start
	Config      string              `json:"config,omitempty"`
	SHA256      string              `json:"sha256,omitempty"` // of that file
	Error       string              `json:"error,omitempty"`
	Address     string              `json:"address,omitempty"`
	Reason      string              `json:"reason,omitempty"`
	Version     string              `json:"version,omitempty"`
}

// Failed reports whether nothing came of a call, for whatever reason.
func (e *Entry) Failed() bool { return e.Outcome != "ok" && e.Outcome != "input_required" }

// A Reader reads what all processes have written, and what they go on to write.
type Reader struct {
	Since time.Time // files that were last written before are not read; set before the first use

	open  func() (*os.Root, error)
	read  []*part
	heads map[string]Entry // of processes
	begun map[string]Entry // calls without an end, by ID
}

// part is a file as far as it has been read.
type part struct {
	info fs.FileInfo
	at   int64
}

// NewReader returns a reader of the directory that open returns.
func NewReader(open func() (*os.Root, error)) *Reader {
	return &Reader{open: open, heads: map[string]Entry{}, begun: map[string]Entry{}}
}

// Next returns the entries since the last time that match, in order of time. A call whose process did not live
// to end it is one of them, unfinished, and one that goes on the first time, running.
func (r *Reader) Next(match func(*Entry) bool) (found []Entry, err error) {
	dir, err := r.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	add := func(e Entry) {
		if match(&e) {
			found = append(found, e)
		}
	}
	gone := maps.Clone(r.begun) // asked before the files are read, which have all of who is gone
	maps.DeleteFunc(gone, func(_ string, e Entry) bool { return r.runs(e.Run) })
	first := r.read == nil
	for _, info := range files(dir) {
		if info.ModTime().Before(r.Since) {
			continue
		}
		i := slices.IndexFunc(r.read, func(p *part) bool { // the file system may give the number of one that was removed to another
			return os.SameFile(p.info, info) && (p.info.Name() == info.Name() || p.info.Name() == current)
		})
		if i < 0 {
			i = len(r.read)
			r.read = append(r.read, &part{})
		}
		p := r.read[i]
		if p.info = info; info.Size() < p.at { // another one, in the place of one that was removed
			p.at = 0
		}
		err = cmp.Or(err, r.part(dir, p, add))
	}
	for id, e := range r.begun {
		e.What, e.Outcome = Call, "running"
		if _, is := gone[id]; is || first && !r.runs(e.Run) {
			e.Outcome = "unfinished"
			delete(r.begun, id)
		}
		if first || e.Outcome == "unfinished" {
			add(e)
		}
	}
	slices.SortStableFunc(found, func(a, b Entry) int { return a.Time.Compare(b.Time) })
	return found, err
}

// part reads the lines that were added to a file. One that is not whole is left for the next time; one that a killed
// process has left is skipped.
func (r *Reader) part(dir *os.Root, p *part, add func(Entry)) error {
	f, err := dir.Open(p.info.Name())
	if err != nil || p.info.Size() == p.at {
		return nil
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(now, p.info) { // it was rotated meanwhile
		return err
	}
	if _, err := f.Seek(p.at, io.SeekStart); err != nil {
		return err
	}
	for in := bufio.NewReaderSize(f, 64<<10); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		p.at += int64(len(line))
		var e Entry
		if len(line) == 1 || json.Unmarshal(line, &e) != nil {
			continue
		}
		head, known := r.heads[e.Run]
		if e.Directory == "" {
			e.Directory = head.Directory
		} else if known { // the configuration has changed
			head.Directory = e.Directory
			r.heads[e.Run] = head
		}
		switch {
		case e.What == Start && known:
			continue // it has gone on in another file
		case e.What == Start:
			r.heads[e.Run] = e
		case e.What == Begin:
			r.begun[e.ID] = e
		default:
			delete(r.begun, e.ID)
		}
		if e.What != Begin {
			add(e)
		}
	}
}

// runs reports whether a process still runs: no other has its number, in another container, say.
func (r *Reader) runs(run string) bool {
	head := r.heads[run]
	for other, h := range r.heads {
		if h.PID == head.PID && other != run && h.Time.After(head.Time) {
			return false
		}
	}
	return osfile.Runs(head.PID)
}
