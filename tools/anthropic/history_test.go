package anthropic

import (
	"fmt"
	"strings"
	"testing"
)

func TestHistory(t *testing.T) {
	h := newHistory()
	if count, dropped := h.add("ada", "c", "s", "one", Answer{Text: "1"}); count != 2 || dropped {
		t.Errorf("%d messages, dropped %v", count, dropped)
	}
	if other, _ := h.kept.Get("bob", "c"); other.messages != nil {
		t.Errorf("another principal sees %v", other)
	}
	before, _ := h.kept.Get("ada", "c")
	h.add("ada", "c", "t", "two", Answer{Text: "2"})
	c, _ := h.kept.Get("ada", "c")
	if c.system != "t" || fmt.Sprint(c.messages) != "[{user one} {assistant 1} {user two} {assistant 2}]" || len(before.messages) != 2 {
		t.Errorf("%+v", c)
	}
	long := strings.Repeat("x", maxConversationBytes/4)
	for i := range 10 {
		count, dropped := h.add("ada", "long", "s", fmt.Sprint(i), Answer{Text: long})
		if count > 6 || dropped != (i >= 3) {
			t.Errorf("%d: %d messages, dropped %v", i, count, dropped)
		}
	}
	if c, _ := h.kept.Get("ada", "long"); c.system != "s" || c.messages[0].Role != RoleUser || c.messages[0].Content != "7" {
		t.Errorf("%s, begins with %q", c.system, c.messages[0].Content)
	}
	if count, dropped := h.add("ada", "long", "", "m", Answer{Text: strings.Repeat("x", maxConversationBytes)}); count != 0 || !dropped {
		t.Errorf("%d messages, dropped %v", count, dropped)
	}
}
