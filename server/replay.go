package server

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Bounds of what is kept for clients that have lost the connection of a request.
const (
	resumeAfter = time.Second     // a response that takes longer is a stream that can be resumed
	replayTime  = 5 * time.Minute // since the last event
	maxReplays  = 32 << 20        // bytes of all streams
	maxReplay   = 1 << 20         // bytes of one before its last event
)

// replay is the stream of the response to a request, kept for a while: its client may have
// lost the connection, which cancels nothing in protocol version 2025-11-25, and asks for
// what follows the last event that it got.
type replay struct {
	server  *Server
	session *session
	stream  string // names it within the session

	mu     sync.Mutex
	first  int // number of events[0]
	events [][]byte
	size   int
	done   bool
	grown  chan struct{} // closed when something was added
}

func (s *Server) newReplay(ses *session) *replay {
	return &replay{server: s, session: ses, stream: strconv.FormatInt(ses.responses.Add(1), 10), grown: make(chan struct{})}
}

func (r *replay) key(stream string) string { return r.session.id + "/" + stream }

// add keeps an event, and returns it with its ID.
func (r *replay) add(event []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size > maxReplay {
		r.first, r.events, r.size = r.first+len(r.events), nil, 0
	}
	event = append(fmt.Appendf(nil, "id: %s-%d\n", r.stream, r.first+len(r.events)), event...)
	r.events, r.size = append(r.events, event), r.size+len(event)
	r.server.replays.Put(r.session.owner, r.key(r.stream), r, int64(r.size))
	close(r.grown)
	r.grown = make(chan struct{})
	return event
}

// end notes that nothing will follow.
func (r *replay) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
	close(r.grown)
	r.grown = make(chan struct{})
}

// after returns the events that follow one, whether they are the last, and else what is
// closed when there are more.
func (r *replay) after(event int) (events [][]byte, next int, done bool, grown <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events[min(max(event+1-r.first, 0), len(r.events)):], r.first + len(r.events) - 1, r.done, r.grown
}

// resume answers a request for what follows an event. It reports whether the ID is that
// of an event.
func (h *httpHandler) resume(w http.ResponseWriter, req *http.Request, who caller, ses *session, id string) bool {
	var stream, event int
	if n, err := fmt.Sscanf(id, "%d-%d", &stream, &event); n != 2 || err != nil {
		return false
	}
	kept, ok := h.server.replays.Get(ses.owner, (&replay{session: ses}).key(strconv.Itoa(stream)))
	if !ok {
		http.Error(w, "what follows this event is no longer kept; send the request again", http.StatusBadRequest)
		return true
	}
	eventHeaders(w.Header())
	control := http.NewResponseController(w)
	for _, current := who.again(); current; _, current = who.again() {
		events, last, done, grown := kept.after(event)
		if len(events) == 0 {
			events = [][]byte{[]byte(keepAliveComment)}
		}
		for _, e := range events {
			_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := w.Write(e); err != nil {
				return true
			}
		}
		if event = last; done || control.Flush() != nil {
			return true
		}
		select {
		case <-grown:
		case <-time.After(keepAliveInterval):
		case <-req.Context().Done():
			return true
		case <-h.stopping.Done():
			return true
		case <-ses.ctx.Done():
			return true
		}
	}
	return true
}
