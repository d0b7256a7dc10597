// Package task keeps the state of tasks (SEP-2663): calls that go on after their request was
// answered with a handle. Whoever has the handle learns what became of the call, also from
// another process, and after this one was killed.
package task

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/store"
)

// Status is what a task does.
type Status string

// The statuses of SEP-2663. The last three are final.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

// Final reports whether a task with this status has ended.
func (s Status) Final() bool { return s == Completed || s == Failed || s == Cancelled }

// State is what clients are told of a task.
type State struct {
	ID       string          `json:"taskId"`
	Status   Status          `json:"status"`
	Message  string          `json:"statusMessage,omitempty"` // for people and models
	Created  time.Time       `json:"createdAt"`
	Updated  time.Time       `json:"lastUpdatedAt"`
	TTL      *int64          `json:"ttlMs"` // milliseconds from Created for which it is kept; nil while it goes on
	Poll     int64           `json:"pollIntervalMs"`
	Result   json.RawMessage `json:"result,omitempty"`        // of a task that is completed
	Error    json.RawMessage `json:"error,omitempty"`         // of one that has failed: an error of JSON-RPC
	Requests json.RawMessage `json:"inputRequests,omitempty"` // that the client has to answer, by key
}

// Task is a task as it is kept.
type Task struct {
	State
	Owner   string `json:"owner"` // ID of the principal, to whom alone it exists
	Tool    string `json:"tool"`
	Foreign bool   `json:"-"`                 // another process goes on with it
	Replica string `json:"replica,omitempty"` // whose; empty for one of this machine
}

// Update sets the time of the last change, which was made.
func (s *State) Update(at time.Time) {
	if s.Updated = at; s.Status.Final() {
		s.TTL = new((at.Sub(s.Created) + KeptFor).Milliseconds())
	}
}

// KeptFor is how long a task is kept that has ended.
const KeptFor = time.Hour

// Bounds of what one process keeps of tasks that have ended: in files, or without a directory.
const (
	maxKept         = 4096
	maxKeptBytes    = 1 << 30
	maxKeptInMemory = 64 << 20
)

// ErrUnknown says that there is no such task of this principal, or no longer.
var ErrUnknown = errors.New("there is no such task, or it has expired")

// lockName is the file that a process keeps locked as long as it lives.
const lockName = "lock"

// Store keeps tasks in files. Each process has a directory of its own, whose name is
// part of the IDs of its tasks, and holds a lock in it: a task whose process is gone has failed.
// Nothing is made before the first task. Without a directory, tasks end with the process.
type Store struct {
	// Directory opens the directory that the processes of this user share.
	Directory func() (*os.Root, error)
	// Unusable is called once if it cannot be used.
	Unusable func(error)
	// Shared has the tasks of other replicas, which get those of this one.
	Shared *store.Store

	mu   sync.Mutex
	name string   // of the directory of this process; empty until the first task
	dir  *os.Root // the directory; nil if there is none
	lock *os.File
	kept share.Store[string, *Task] // that have ended, by ID; nil if it is in its file
}

// NewID returns the ID of a new task of a principal.
func (s *Store) NewID(owner string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.name == "" {
		s.name = strings.ToLower(rand.Text()[:12])
		s.kept.MaxAge, s.kept.MaxEntries, s.kept.MaxSize = KeptFor, maxKept, maxKeptBytes
		s.kept.Dropped = func(t *Task) {
			if s.dir != nil {
				_ = s.dir.Remove(t.ID)
			}
		}
		if err := s.open(); err != nil {
			s.kept.MaxSize = maxKeptInMemory
			s.Unusable(err)
		}
	}
	if keys := s.Shared.Keys(); keys.Shared() {
		return s.name + "-" + s.Shared.NewHandle(owner)
	}
	return s.name + "-" + strings.ToLower(rand.Text())
}

// open makes the directory of this process.
func (s *Store) open() error {
	base, err := s.Directory()
	if err != nil {
		return err
	}
	defer base.Close()
	sweep(base)
	if err := base.Mkdir(s.name, 0o700); err != nil {
		return err
	}
	dir, err := osfile.SubPrivate(base, s.name)
	if err != nil {
		return err
	}
	lock, err := dir.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		var locked bool
		if locked, err = osfile.TryLock(lock); err == nil && !locked {
			err = errors.New("somebody else has locked it")
		}
	}
	if err != nil {
		dir.Close()
		return fmt.Errorf("the directory for tasks: %w", err)
	}
	s.dir, s.lock = dir, lock
	return nil
}

// sweep removes the directories of processes that are gone and whose tasks have expired.
func sweep(base *os.Root) {
	entries, err := fs.ReadDir(base.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < KeptFor { // each task changes it
			continue
		}
		dir, err := osfile.SubPrivate(base, e.Name())
		if err != nil {
			continue
		}
		if !held(dir) {
			_ = base.RemoveAll(e.Name())
		}
		dir.Close()
	}
}

// held reports whether the process that made a directory lives.
func held(dir *os.Root) bool {
	f, err := dir.OpenFile(lockName, os.O_RDWR, 0o600)
	if err != nil {
		return false
	}
	defer f.Close()
	locked, err := osfile.TryLock(f)
	return err == nil && !locked
}

// Put keeps the state of a task. One that has ended is kept even if it cannot be written.
func (s *Store) Put(t Task) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := json.Marshal(t)
	if err == nil {
		err = s.write(t.ID, data)
	}
	if t.Status.Final() {
		kept := &Task{State: State{ID: t.ID}}
		if err != nil {
			kept = &t
		}
		s.kept.Put(t.Owner, t.ID, kept, int64(len(data)))
	}
	if errors.Is(err, errNoDirectory) {
		err = nil // as was said
	}
	return err
}

var errNoDirectory = errors.New("there is no directory")

// write replaces a file. It is not waited until it is on the disk: a process that is killed
// loses nothing, and what a machine that loses power was doing is over.
func (s *Store) write(name string, data []byte) error {
	if s.dir == nil {
		return errNoDirectory
	}
	temp := name + ".tmp"
	if err := s.dir.WriteFile(temp, data, 0o600); err != nil {
		_ = s.dir.Remove(temp)
		return err
	}
	return s.dir.Rename(temp, name)
}

// Share gives other replicas the state of a task: before its ID is given to a client, when it changes, and again and again while it goes on, as the store
// may lose it. A task of which they do not hear has failed.
func (s *Store) Share(t Task) error {
	if !s.Shared.Shared() {
		return nil
	}
	t.Replica = s.Shared.Name()
	data, err := json.Marshal(t)
	if err == nil && len(data) > store.MaxValue {
		const text = "The call has ended. Its result is too long for all replicas of this server: ask for the task again, until the one that made the call answers."
		t.Result, _ = json.Marshal(map[string]any{"isError": true, "content": []map[string]string{{"type": "text", "text": text}}})
		data, err = json.Marshal(t)
	}
	if err != nil {
		return err
	}
	return s.Shared.Put(context.Background(), t.Owner, "task:"+t.ID, data, KeptFor)
}

// elsewhere returns the state of a task that another replica has, or had. The error is [ErrUnknown], or that of the store.
func (s *Store) elsewhere(owner, id string) (t Task, err error) {
	data, err := s.Shared.Get(context.Background(), owner, "task:"+id)
	switch {
	case err != nil:
		return t, err
	case data == nil || json.Unmarshal(data, &t) != nil || t.Owner != owner || t.ID != id:
		if where := s.Shared.Whereabouts(owner, id[strings.IndexByte(id, '-')+1:], 2*KeptFor); where != "" {
			return Task{}, fmt.Errorf("%w: %s", ErrUnknown, where)
		}
		return Task{}, ErrUnknown
	case t.Status.Final():
		return t, nil
	}
	lives, err := s.Shared.Alive(context.Background(), t.Replica)
	if err != nil {
		return Task{}, err
	}
	if t.Foreign = lives; !lives {
		t.fail(time.Now().UTC())
	}
	return t, nil
}

// taskID matches the IDs of tasks.
var taskID = lazyregexp.New(`^[a-z2-7]{12}-[a-z2-7]{26}\z`)

// Get returns the state of a task of a principal. The error is [ErrUnknown], or that of
// reading it.
func (s *Store) Get(owner, id string) (t Task, err error) {
	if !taskID().MatchString(id) {
		return t, ErrUnknown
	}
	t, err = s.get(owner, id)
	switch {
	case errors.Is(err, ErrUnknown) && s.Shared.Keys().Shared():
		return s.elsewhere(owner, id)
	case t.Foreign && s.Shared.Shared(): // of a replica on this machine
		if other, err := s.elsewhere(owner, id); err == nil {
			return other, nil
		}
	}
	return t, err
}

// get returns the state of a task of a process of this machine.
func (s *Store) get(owner, id string) (t Task, err error) {
	name, _, _ := strings.Cut(id, "-")
	s.mu.Lock()
	dir, own := s.dir, s.name == name
	s.mu.Unlock()
	if own {
		kept, ok := s.kept.Get(owner, id)
		switch {
		case ok && kept.Owner != "":
			return *kept, nil
		case dir == nil:
			return t, ErrUnknown
		}
	} else {
		base, err := s.Directory()
		if err != nil {
			return t, err
		}
		defer base.Close()
		if dir, err = osfile.SubPrivate(base, name); err != nil {
			return t, ErrUnknown
		}
		defer dir.Close()
	}
	info, err := dir.Stat(id)
	if err != nil || time.Since(info.ModTime()) > KeptFor && !held(dir) {
		return t, ErrUnknown
	}
	data, err := dir.ReadFile(id)
	if err != nil || json.Unmarshal(data, &t) != nil || t.Owner != owner || t.ID != id {
		return Task{}, ErrUnknown
	}
	if !own && !t.Status.Final() {
		if t.Foreign = held(dir); !t.Foreign {
			t.fail(info.ModTime())
		}
	}
	return t, nil
}

// fail says of a task that its process is gone.
func (t *Task) fail(at time.Time) {
	t.Status, t.Requests = Failed, nil
	t.Update(at)
	t.Message = "the server has ended while the call was running: whether it had an effect is unknown, and it is not made again"
	t.Error, _ = json.Marshal(map[string]any{"code": -32603, "message": t.Message})
}

// Close gives up the directory: tasks that have not ended have failed.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != nil {
		s.lock.Close()
		s.dir.Close()
	}
}
