package anthropic

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain/share"
)

// history keeps conversations, each for its principal, so that a caller can go on with one by its id. It ends with the
// program. Two calls in parallel that go on with the same conversation do not see each other; both are added as they end.
type history struct {
	mu   sync.Mutex // for adding
	kept share.Store[string, kept]
}

// Bounds of a [history].
const (
	maxConversations     = 256
	maxConversationBytes = 512 << 10
	maxHistoryBytes      = 16 << 20
	conversationTTL      = 30 * time.Minute
)

// kept is a conversation. Its messages are not changed, only replaced: calls in flight hold them.
type kept struct {
	system   string
	messages []Message // of the user and the assistant alternately
}

func newHistory() *history {
	return &history{kept: share.Store[string, kept]{
		MaxEntries: maxConversations, MaxSize: maxHistoryBytes, MaxAge: conversationTTL, Renew: true,
	}}
}

// add adds an exchange to a conversation, and drops the beginning of one that has become too long. An answer that is empty or
// a refusal is not added: the model would refuse what follows, too. It returns the number of messages and whether any was
// dropped.
func (h *history) add(principal, id, system, said string, answer Answer) (count int, dropped bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	earlier, _ := h.kept.Get(principal, id) // if anything
	messages := earlier.messages
	answered := strings.TrimRight(answer.Text, " \t\r\n")
	if answer.StopReason == "refusal" || strings.TrimSpace(answered) == "" {
		return len(messages), false
	}
	messages = slices.Concat(messages, []Message{{RoleUser, said}, {RoleAssistant, answered}})
	size := len(system)
	for _, t := range messages {
		size += len(t.Content)
	}
	first := 0
	for ; first < len(messages) && size > maxConversationBytes; first += 2 {
		size -= len(messages[first].Content) + len(messages[first+1].Content)
	}
	messages = slices.Clone(messages[first:]) // lets go of the others
	h.kept.Put(principal, id, kept{system, messages}, int64(size))
	return len(messages), first > 0
}
