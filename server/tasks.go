package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/server/task"
	"github.com/toolserver/toolserver/store"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

const (
	// slowTask is after what time a call becomes a task, for a client that takes one: Claude Code does not
	// wait for one at all.
	slowTask = 5 * time.Second
	// noteKey is what Claude Code shows its model as a note of the server, when that has made a task.
	noteKey = "com.anthropic/agent-task"
	// pollInterval is how often clients are asked to look at most.
	pollInterval = time.Second
	// answerTime is how long a task waits for the answers of its client.
	answerTime = time.Hour
	// workerIdle is how long a goroutine waits for another request.
	workerIdle = time.Second
	// maxTasks bounds those of all clients that have not ended, of which each
	// principal has a share.
	maxTasks = 2048
)

// tasks are the calls that go on after their request was answered with a handle
// (SEP-2663). Those that have ended are in the store.
type tasks struct {
	server  *Server
	store   task.Store
	places  *share.Pool // of those that have not ended, by principal
	running inflight    // calls that may be or become tasks
	next    chan *exchange

	mu      sync.Mutex
	live    map[string]*liveTask // by ID
	stopped error                // no more begin
}

// liveTask is a task that has not ended: its call runs, or waits to run again with
// answers of the client.
type liveTask struct {
	tasks *tasks
	x     *exchange

	mu      sync.Mutex
	state   task.Task
	asked   map[string]question        // that are not answered, by key
	answers map[string]json.RawMessage // so far, by name of the question
	keys    int                        // that were used
	resume  string                     // see [call.InputRequired]
	keep    func(time.Duration)        // see there; nil if there is nothing to keep
	alarm   *time.Timer                // ends a wait for answers
	shared  time.Time                  // when other replicas were last told of it
}

// question is one that a task asks its client.
type question struct {
	name string // in the call
	call.InputRequest
}

var (
	errTaskCancelled = errors.New("the client has cancelled the task")
	errUnanswered    = errors.New("nobody has answered in time what the call asked")
	errStopped       = errors.New("the server stops")
)

func newTasks(s *Server, directory func() (*os.Root, error)) *tasks {
	lost := func(err error) { s.opts.Log.Warn("tasks are forgotten when the server ends", zap.Error(err)) }
	return &tasks{
		server: s, store: task.Store{Directory: directory, Unusable: lost, Shared: s.exec.Store}, places: share.NewPool(maxTasks, 0), live: map[string]*liveTask{},
		next: make(chan *exchange),
	}
}

// begin makes a task of a request. It returns nil if that is not possible: the request is then
// answered when its call ends.
func (ts *tasks) begin(x *exchange, message string) *liveTask {
	owner := x.who.principal.ID
	if !ts.places.TryAcquire(owner, 1) {
		return nil
	}
	name, _ := rawjson.String(x.name)
	now := time.Now().UTC()
	t := &liveTask{tasks: ts, x: x, answers: map[string]json.RawMessage{}, state: task.Task{Owner: owner, Tool: name, State: task.State{
		ID: ts.store.NewID(owner), Status: task.Working, Message: message, Created: now, Updated: now, Poll: pollInterval.Milliseconds(),
	}}}
	err := cmp.Or(ts.store.Put(t.state), ts.share(t.state))
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if err = cmp.Or(err, ts.stopped); err != nil {
		ts.server.opts.Log.Warn("a call could not become a task", zap.String("tool", name), zap.Error(err))
		ts.places.Release(owner, 1)
		return nil
	}
	ts.live[t.state.ID] = t
	return t
}

// set changes the state of the task, which was changed by change, for everybody. The caller
// holds mu. It does nothing for a task that has ended.
func (t *liveTask) set(change func(*task.Task)) {
	if t.state.Status.Final() {
		return
	}
	before := t.state
	change(&t.state)
	t.state.Update(time.Now().UTC())
	if before.Status != t.state.Status {
		if err := t.tasks.store.Put(t.state); err != nil {
			t.tasks.server.opts.Log.Warn("the state of a task could not be kept", zap.String("tool", t.state.Tool), zap.Error(err))
		}
	}
	if t.state.Status.Final() {
		t.tasks.mu.Lock()
		delete(t.tasks.live, t.state.ID)
		t.tasks.mu.Unlock()
		t.tasks.places.Release(t.state.Owner, 1)
		if t.alarm != nil {
			t.alarm.Stop()
		}
	}
	t.tasks.server.hub.changed(taskChanged(t.state.ID))
	if now := time.Now(); before.Status != t.state.Status || now.Sub(t.shared) >= pollInterval {
		t.shared = now
		_ = t.tasks.share(t.state) // which is tried again
		t.tasks.server.exec.Store.Tell("", taskMessage, jsonrpc.AppendValue(nil, taskElsewhere{ID: t.state.ID, Changed: true}))
	}
}

// share gives the other replicas the state of a task. While the store cannot be reached, a task begins all the same unless that is to be refused.
func (ts *tasks) share(t task.Task) error {
	err := ts.store.Share(t)
	if err != nil && !ts.server.exec.Store.Refuses() {
		err = nil
	}
	return err
}

// shareAll gives the other replicas the state of all tasks that have not ended.
func (ts *tasks) shareAll() {
	ts.mu.Lock()
	live := slices.Collect(maps.Values(ts.live))
	ts.mu.Unlock()
	for _, t := range live {
		t.mu.Lock()
		state := t.state
		t.mu.Unlock()
		if !state.Status.Final() {
			_ = ts.share(state)
		}
	}
}

// taskElsewhere is what replicas tell and ask each other about a task.
type taskElsewhere struct {
	ID      string                     `json:"id"`
	Changed bool                       `json:"changed,omitempty"` // to all: it has changed
	Owner   string                     `json:"owner,omitempty"`
	Answers map[string]json.RawMessage `json:"answers,omitempty"` // of its client; nil to cancel it
}

// fromElsewhere takes in what another replica says of a task. The answer is an error as text, empty for none.
func (ts *tasks) fromElsewhere(_ context.Context, body []byte) []byte {
	var e taskElsewhere
	if json.Unmarshal(body, &e) != nil {
		return nil
	}
	if e.Changed {
		ts.server.hub.changed(taskChanged(e.ID))
		return nil
	}
	t := ts.find(e.Owner, e.ID)
	if t == nil {
		return []byte{} // it has ended meanwhile
	}
	if err := t.take(e.Answers); err != nil {
		return []byte(err.Error())
	}
	return []byte{}
}

// take ends the task, or takes in answers of its client.
func (t *liveTask) take(answers map[string]json.RawMessage) error {
	if answers == nil {
		t.end(errTaskCancelled)
		return nil
	}
	return t.answer(answers)
}

// forwardTime is how long the replica that goes on with a task may take to take something in.
const forwardTime = 2 * time.Second

// forward has the replica that goes on with a task take in what its client says, if there is one.
func (ts *tasks) forward(ctx context.Context, t *task.Task, answers map[string]json.RawMessage) error {
	switch {
	case !t.Foreign:
		return nil
	case t.Replica == "":
		return invalidParams("another process of this server goes on with the task, and only that can change it")
	}
	ctx, cancel := context.WithTimeout(ctx, forwardTime)
	defer cancel()
	got := ts.server.exec.Store.Ask(ctx, t.Replica, taskMessage, jsonrpc.AppendValue(nil, taskElsewhere{ID: t.ID, Owner: t.Owner, Answers: answers}))
	switch {
	case len(got) == 0:
		return &domain.Error{Code: domain.CodeBusy, Message: "the replica of this server that goes on with the task does not answer; try again in a few seconds"}
	case len(got[0]) > 0:
		return invalidParams(string(got[0]))
	}
	return nil
}

// say sets what people and models read of the task.
func (t *liveTask) say(message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if message != "" && message != t.state.Message {
		t.set(func(s *task.Task) { s.Message = message })
	}
}

// ended takes in the outcome of the call, which write appends unless there is an error: the
// answer, or that the client has to answer first.
func (t *liveTask) ended(write reply, err error) {
	cause := stopped(t.x.ctx)
	t.x.cancel(nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	required, asks := errors.AsType[*call.InputRequired](err)
	switch {
	case asks && required.Upload != nil:
		asks, err = false, domain.Errorf(domain.CodeExecutionFailed, "the client was to send a file, which no task waits for; make the call again")
	case asks:
		t.keep = required.Keep
	}
	switch {
	case cause != nil && err != nil:
		t.stop(cause)
	case asks:
		t.ask(required)
	case err != nil:
		e := t.x.wireError(err)
		t.set(func(s *task.Task) { s.Status, s.Message, s.Error = task.Failed, e.Message, e.AppendTo(nil) })
	default:
		t.set(func(s *task.Task) { s.Status, s.Message, s.Result = task.Completed, "", write(nil) })
	}
}

// stopped returns why the call of a task was ended, or nil if it was not.
func stopped(ctx context.Context) error {
	switch cause := context.Cause(ctx); cause {
	case errTaskCancelled, errRevoked, errStopped, errUnanswered:
		return cause
	}
	return nil
}

// stop ends the task because of a cause. The caller holds mu.
func (t *liveTask) stop(cause error) {
	if t.keep != nil {
		t.keep(0)
	}
	t.set(func(s *task.Task) {
		s.Status, s.Message, s.Requests = task.Cancelled, cause.Error(), nil
		if cause != errTaskCancelled {
			s.Status, s.Message = task.Failed, cause.Error()+"; whether the call had an effect is unknown"
			s.Error = (&jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: s.Message}).AppendTo(nil)
		}
	})
}

// end has the task end because of a cause: at once if its call does not run, else
// with the call.
func (t *liveTask) end(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state.Status == task.InputRequired {
		t.stop(cause)
		return
	}
	t.x.cancel(cause)
}

// ask waits for answers of the client. The caller holds mu.
func (t *liveTask) ask(required *call.InputRequired) {
	t.asked, t.resume = map[string]question{}, required.Resume
	if t.keep != nil {
		t.keep(answerTime)
	}
	for _, name := range slices.Sorted(maps.Keys(required.Requests)) {
		t.keys++ // none is used twice
		t.asked["question-"+strconv.Itoa(t.keys)] = question{name, required.Requests[name]}
	}
	t.alarm = time.AfterFunc(answerTime, func() { t.end(errUnanswered) })
	t.waits()
}

// waits shows the questions that are not answered. The caller holds mu.
func (t *liveTask) waits() {
	requests := map[string]call.InputRequest{}
	for key, q := range t.asked {
		requests[key] = q.InputRequest
	}
	t.set(func(s *task.Task) { s.Status, s.Requests = task.InputRequired, jsonrpc.AppendValue(nil, requests) })
}

// answer takes in answers of the client, by key. Those to other questions are ignored. After the
// last one the call runs again.
func (t *liveTask) answer(given map[string]json.RawMessage) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, q := range t.asked {
		if answer, ok := given[key]; ok && !validAnswer(q.Method, answer) {
			return invalidParams(`"` + key + `" of "inputResponses" is no valid answer to ` + q.Method)
		}
	}
	if t.state.Status != task.InputRequired {
		return nil
	}
	for key, answer := range given {
		if q, ok := t.asked[key]; ok {
			t.answers[q.name] = slices.Clone(answer)
			delete(t.asked, key)
		}
	}
	if len(t.asked) > 0 {
		t.waits()
		return nil
	}
	t.alarm.Stop()
	now, ok := t.x.who.again()
	if !ok {
		t.stop(errRevoked)
		return nil
	}
	t.x.who.principal = now
	t.x.ctx, t.x.cancel = context.WithCancelCause(context.WithoutCancel(t.x.ctx))
	t.x.peer.resume(t.answers, t.resume)
	t.keep = nil
	t.set(func(s *task.Task) { s.Status, s.Requests = task.Working, nil })
	t.tasks.run(t.x)
	return nil
}

// get returns the state of a task of a principal.
func (ts *tasks) get(owner, id string) (task.Task, error) {
	if t := ts.find(owner, id); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.state, nil
	}
	return ts.store.Get(owner, id)
}

// find returns a task that has not ended, or nil.
func (ts *tasks) find(owner, id string) *liveTask {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.live[id]; t != nil && t.state.Owner == owner {
		return t
	}
	return nil
}

// endAll has the tasks of an owner end, or of all if that is empty.
func (ts *tasks) endAll(owner string, cause error) {
	ts.mu.Lock()
	if owner == "" {
		ts.stopped = cause
	}
	live := slices.Collect(maps.Values(ts.live))
	ts.mu.Unlock()
	for _, t := range live {
		if owner == "" || t.state.Owner == owner {
			t.end(cause)
		}
	}
}

// finish waits until no call runs that is a task, and ends those that are still running after a
// limit.
func (ts *tasks) finish(limit time.Duration) {
	ts.running.wait(limit)
	ts.endAll("", errStopped)
	ts.running.wait(stopTime)
	ts.store.Close()
}

// run serves a request in a goroutine that has served others, if one is idle: growing the stack of a new one costs
// more than a fast call.
func (ts *tasks) run(x *exchange) {
	ts.running.add(1)
	select {
	case ts.next <- x:
	default:
		go ts.serve(x)
	}
}

// serve serves a request, and others until none comes for a while.
func (ts *tasks) serve(x *exchange) {
	idle := time.NewTimer(0)
	defer idle.Stop()
	for x != nil {
		func() {
			defer ts.running.add(-1) // also after a handler that ends its goroutine
			x.serve()
		}()
		idle.Reset(workerIdle)
		select {
		case x = <-ts.next:
		case <-idle.C:
			x = nil
		}
	}
}

// background is a request that may become a task, or is one: its client takes tasks.
type background struct {
	x    *exchange
	slow *time.Timer // makes a task of it
	task *liveTask   // guarded by the mutex of the peer; nil until then
}

// detach makes a task of the request, if that is possible, and answers with it. It reports
// whether it is one.
func (g *background) detach(message string) bool {
	x := g.x
	x.peer.mu.Lock()
	defer x.peer.mu.Unlock()
	if g.task != nil || x.peer.finished {
		return g.task != nil
	}
	t := x.server.tasks.begin(x, message)
	if t == nil {
		return false
	}
	x.peer.finished, g.task = true, t
	b := append(jsonrpc.AppendResultHead(nil, x.ID), `{"resultType":"task",`...)
	b = x.server.appendTask(b, &t.state.State)
	var note any
	if message != "" && x.domain().ClaudeCode() {
		note = map[string]any{noteKey: map[string]string{"modelImmediateResponse": message}}
	}
	x.reply(append(x.encoder().meta(b, note), '}'), 0)
	return true
}

// became returns the task that the request has become, or nil.
func (g *background) became() *liveTask {
	if g == nil {
		return nil
	}
	g.x.peer.mu.Lock()
	defer g.x.peer.mu.Unlock()
	return g.task
}

// begin has the request become a task if it takes long.
func (g *background) begin() {
	if g != nil && g.slow == nil {
		g.slow = time.AfterFunc(slowTask, func() { g.detach("") })
	}
}

// serve serves the request, and returns when it is answered. While it is no task, it is
// canceled with its connection.
func (g *background) serve(connection context.Context) {
	answered := make(chan struct{})
	g.x.ended = func() { close(answered) }
	defer context.AfterFunc(connection, func() {
		if g.became() == nil {
			g.x.cancel(errLeft)
		}
	})()
	g.x.server.tasks.run(g.x)
	<-answered
}

var errLeft = errors.New("the client has closed the connection")

// appendTask appends the members of a task, without the secrets that the server has now: it may have been kept
// under others.
func (s *Server) appendTask(b []byte, t *task.State) []byte {
	state := s.exec.Registry.Catalog().Redactor.JSON(jsonrpc.AppendValue(nil, t))
	return append(b, state[1:len(state)-1]...)
}

// onTask serves tasks/get, tasks/update and tasks/cancel.
func (x *exchange) onTask() (reply, error) {
	id, err := x.text("taskId", x.peer.taskID)
	if err != nil {
		return nil, err
	}
	owner, ts := x.who.principal.ID, x.server.tasks
	if x.method != methodTasksGet {
		return x.acknowledge(ts, owner, id)
	}
	t, err := ts.get(owner, id)
	if err != nil {
		return nil, taskError(err)
	}
	return func(b []byte) []byte { return x.encoder().end(x.server.appendTask(append(b, '{'), &t.State), nil) }, nil
}

// taskError returns the error of a request about a task as the client gets it.
func taskError(err error) error {
	switch {
	case errors.Is(err, task.ErrUnknown):
		return invalidParams(err.Error())
	case errors.Is(err, store.ErrUnavailable):
		return &domain.Error{Code: domain.CodeBusy, Message: store.ErrUnavailable.Error(), Err: err}
	}
	return &domain.Error{Code: domain.CodeInternal, Message: "the task could not be read", Err: err}
}

// acknowledge serves tasks/update and tasks/cancel, which have the same empty result for tasks
// that have ended.
func (x *exchange) acknowledge(ts *tasks, owner, id string) (reply, error) {
	var given map[string]json.RawMessage
	if x.method == methodTasksUpdate && (x.inputResponses == nil || json.Unmarshal(x.inputResponses, &given) != nil) {
		return nil, invalidParams(`tasks/update needs "inputResponses", an object with the answers by their keys`)
	}
	if t := ts.find(owner, id); t == nil {
		other, err := ts.store.Get(owner, id)
		if err != nil {
			return nil, taskError(err)
		}
		if err := ts.forward(x.ctx, &other, given); err != nil {
			return nil, err
		}
	} else if err := t.take(given); err != nil {
		return nil, err
	}
	return func(b []byte) []byte { return x.encoder().meta(append(b, `{"resultType":"complete"`...), nil) }, nil
}

const notificationTasks = "notifications/tasks"

// taskChanged is the change of a task.
func taskChanged(id string) change { return change{notificationTasks, "taskId", id} }

// notification tells the subscription that tag names what has become of a task. It is nil for
// one that has expired.
func (ts *tasks) notification(owner, id string, tag any) []byte {
	t, err := ts.get(owner, id)
	if err != nil {
		return nil
	}
	b := jsonrpc.AppendValue([]byte(`{"jsonrpc":"2.0","method":"`+notificationTasks+`","params":{"_meta":`), tag)
	return append(ts.server.appendTask(append(b, ','), &t.State), "}}"...)
}
