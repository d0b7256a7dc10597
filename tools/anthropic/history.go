package anthropic

import (
	"container/list"
	"slices"
	"sync"
	"time"
)

// history keeps conversations, each for the principal whose it is, so that a
// caller can go on with one by its id. It is bounded in number, memory and time,
// so that nobody's conversations take the place of others', and ends with the
// program. Of two calls at a time that go on with the same
// conversation neither knows of the other; they are added as they end.
type history struct {
	mu     sync.Mutex
	kept   map[conversationKey]*list.Element // of *kept
	recent *list.List                        // the last used first
	bytes  int
	now    func() time.Time
}

// Bounds of a [history].
const (
	maxConversations     = 256
	maxConversationBytes = 512 << 10
	maxHistoryBytes      = 16 << 20
	conversationTTL      = 30 * time.Minute
)

// conversationKey is a conversation's id, which callers choose, with whose it is.
type conversationKey struct{ principal, id string }

// kept is a conversation. Its turns are not changed, only replaced: calls under
// way hold them.
type kept struct {
	key     conversationKey
	system  string
	turns   []Message // of the user and the assistant by turns
	bytes   int
	expires time.Time
}

func newHistory() *history {
	return &history{kept: map[conversationKey]*list.Element{}, recent: list.New(), now: time.Now}
}

// turns returns what was said in a conversation, and its system prompt, and keeps
// it for another while. One that is not there begins.
func (h *history) turns(key conversationKey) (system string, turns []Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.evict()
	e, ok := h.kept[key]
	if !ok {
		return "", nil
	}
	h.recent.MoveToFront(e)
	c := e.Value.(*kept)
	c.expires = h.now().Add(conversationTTL) // whoever is further back expires earlier
	return c.system, c.turns
}

// add adds what a user said and the model answered to a conversation, and drops
// its beginning if it has become too long. It returns how many messages there are
// and whether any was dropped.
func (h *history) add(key conversationKey, system, said, answered string) (count int, dropped bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &kept{key: key, system: system, expires: h.now().Add(conversationTTL)}
	if e, ok := h.kept[key]; ok {
		c.turns = e.Value.(*kept).turns
		h.drop(e)
	}
	c.turns = append(c.turns[:len(c.turns):len(c.turns)], Message{RoleUser, said}, Message{RoleAssistant, answered})
	c.bytes = len(system)
	for _, t := range c.turns {
		c.bytes += len(t.Content)
	}
	for len(c.turns) > 0 && c.bytes > maxConversationBytes {
		c.bytes -= len(c.turns[0].Content) + len(c.turns[1].Content)
		c.turns = c.turns[2:]
		dropped = true
	}
	if dropped {
		c.turns = slices.Clone(c.turns) // lets go of the others
	}
	h.kept[key] = h.recent.PushFront(c)
	h.bytes += c.bytes
	h.evict()
	return len(c.turns), dropped
}

// evict drops what has expired and then, down to the bounds, what was used least
// recently of the principal that has the most.
func (h *history) evict() {
	for {
		e := h.recent.Back()
		switch {
		case e == nil:
			return
		case !h.now().Before(e.Value.(*kept).expires):
		case h.recent.Len() > maxConversations:
			e = h.oldestOfLargest(func(*kept) int { return 1 })
		case h.bytes > maxHistoryBytes:
			e = h.oldestOfLargest(func(c *kept) int { return c.bytes })
		default:
			return
		}
		h.drop(e)
	}
}

// oldestOfLargest returns the least recently used conversation of the principal
// with the most of what size measures.
func (h *history) oldestOfLargest(size func(*kept) int) *list.Element {
	has, most := map[string]int{}, 0
	for key, e := range h.kept {
		has[key.principal] += size(e.Value.(*kept))
		most = max(most, has[key.principal])
	}
	e := h.recent.Back()
	for has[e.Value.(*kept).key.principal] < most {
		e = e.Prev()
	}
	return e
}

func (h *history) drop(e *list.Element) {
	c := h.recent.Remove(e).(*kept)
	delete(h.kept, c.key)
	h.bytes -= c.bytes
}
