package anthropic

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestHistory(t *testing.T) {
	now := time.Unix(0, 0)
	h := newHistory()
	h.now = func() time.Time { return now }
	ada, bob := conversationKey{"ada", "c"}, conversationKey{"bob", "c"}
	if count, dropped := h.add(ada, "s", "one", "1"); count != 2 || dropped {
		t.Errorf("%d messages, dropped %v", count, dropped)
	}
	if _, turns := h.turns(bob); turns != nil {
		t.Errorf("another principal sees %v", turns)
	}
	_, before := h.turns(ada)
	h.add(ada, "t", "two", "2")
	system, turns := h.turns(ada)
	if system != "t" || fmt.Sprint(turns) != "[{user one} {assistant 1} {user two} {assistant 2}]" || len(before) != 2 {
		t.Errorf("%s, %v", system, turns)
	}
	h.add(bob, "", "b", "b")
	now = now.Add(conversationTTL - 1)
	h.turns(ada) // keeps it
	now = now.Add(1)
	if _, turns := h.turns(bob); turns != nil {
		t.Error("an expired conversation is there")
	}
	if _, turns := h.turns(ada); len(turns) != 4 {
		t.Error("a conversation expired although it was used")
	}
	now = now.Add(conversationTTL)
	if _, turns := h.turns(ada); turns != nil || h.bytes != 0 || len(h.kept) != 0 || h.recent.Len() != 0 {
		t.Errorf("%v, %d bytes, %d kept", turns, h.bytes, len(h.kept))
	}
}

func TestHistoryBounds(t *testing.T) {
	h := newHistory()
	long := strings.Repeat("x", maxConversationBytes/4)
	key := conversationKey{"ada", "long"}
	for i := range 10 {
		count, dropped := h.add(key, "s", fmt.Sprint(i), long)
		if count > 6 || dropped != (i >= 3) {
			t.Errorf("%d: %d messages, dropped %v", i, count, dropped)
		}
	}
	if system, turns := h.turns(key); system != "s" || turns[0].Role != RoleUser || turns[0].Content != "7" {
		t.Errorf("%s, begins with %q", system, turns[0].Content)
	}
	if count, dropped := h.add(key, "", "m", strings.Repeat("x", maxConversationBytes)); count != 0 || !dropped {
		t.Errorf("%d messages, dropped %v", count, dropped)
	}
	for i := range 2 * maxConversations {
		h.add(conversationKey{"ada", fmt.Sprint(i)}, "", "m", long)
		if h.bytes > maxHistoryBytes || len(h.kept) > maxConversations {
			t.Fatalf("%d conversations of %d bytes", len(h.kept), h.bytes)
		}
	}
	bob := conversationKey{"bob", "the only one"}
	h.add(bob, "", "m", "n")
	for i := range 2 * maxConversations {
		h.add(conversationKey{"ada", fmt.Sprint("short ", i)}, "", "m", "n")
	}
	if len(h.kept) != maxConversations || h.bytes != 2*maxConversations {
		t.Errorf("%d conversations of %d bytes", len(h.kept), h.bytes)
	}
	if _, turns := h.turns(bob); turns == nil {
		t.Error("the conversations of one have taken the place of another's")
	}
}
