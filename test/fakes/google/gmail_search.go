package google

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// query is a search of Gmail: all of its terms have to match.
type query struct {
	terms    []term
	anywhere bool // it names spam or trash
}

type term struct {
	not, or     bool // or: this one or the one before
	field, text string
	since       time.Time // of newer_than and the like
}

// parseQuery parses a search: words, "phrases", -without, a OR b, field:value.
func parseQuery(text string, now time.Time) (q query) {
	or := false
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		var t term
		if rest, ok := strings.CutPrefix(text, "-"); ok {
			t.not, text = true, rest
		}
		if end := strings.IndexAny(text, ": \"("); end > 0 && text[end] == ':' {
			t.field, text = strings.ToLower(text[:end]), text[end+1:]
		}
		t.text, text = word(text)
		if t.text == "OR" && t.field == "" {
			or = len(q.terms) > 0
			continue
		}
		t.or, or = or, false
		t.since = moment(t.text, t.field, now)
		t.text = strings.ToLower(t.text)
		if t.field == "in" && slices.Contains([]string{"spam", "trash", "anywhere"}, t.text) {
			q.anywhere = true
		}
		if t.text != "" {
			q.terms = append(q.terms, t)
		}
	}
	return q
}

// word cuts a word or what is in quotes or parentheses.
func word(text string) (first, rest string) {
	for open, end := range map[string]string{`"`: `"`, "(": ")", "{": "}"} {
		if inner, ok := strings.CutPrefix(text, open); ok {
			first, rest, _ = strings.Cut(inner, end)
			return first, rest
		}
	}
	first, rest, _ = strings.Cut(text, " ")
	return first, rest
}

// moment returns the time that a term names: 2d, 2026/11/23, seconds since 1970.
func moment(text, field string, now time.Time) time.Time {
	if strings.HasSuffix(field, "_than") && len(text) > 1 {
		n, err := strconv.Atoi(text[:len(text)-1])
		if err != nil {
			return time.Time{}
		}
		switch text[len(text)-1] {
		case 'h':
			return now.Add(-time.Duration(n) * time.Hour)
		case 'd':
			return now.AddDate(0, 0, -n)
		case 'm':
			return now.AddDate(0, -n, 0)
		case 'y':
			return now.AddDate(-n, 0, 0)
		}
		return time.Time{}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(n, 0)
	}
	day, _ := time.Parse("2006/1/2", strings.ReplaceAll(text, "-", "/"))
	return day
}

func (q query) matches(u *user, m *message) bool {
	ok := true
	for i := 0; i < len(q.terms); i++ {
		any := q.terms[i].matches(u, m)
		for i+1 < len(q.terms) && q.terms[i+1].or {
			i++
			any = any || q.terms[i].matches(u, m)
		}
		ok = ok && any
	}
	return ok
}

func (t term) matches(u *user, m *message) bool { return t.has(u, m) != t.not }

func (t term) has(u *user, m *message) bool {
	in := func(names ...string) bool {
		for _, name := range names {
			if strings.Contains(strings.ToLower(decodeHeader(m.root.header(name))), t.text) {
				return true
			}
		}
		return false
	}
	labelled := func(id string) bool { return slices.Contains(m.labels, id) }
	switch t.field {
	case "from", "cc", "bcc", "subject":
		return in(t.field)
	case "to":
		return in("To", "Cc", "Bcc")
	case "rfc822msgid":
		return strings.Trim(strings.ToLower(m.root.header("Message-Id")), "<>") == strings.Trim(t.text, "<>")
	case "in":
		return t.text == "anywhere" || labelled(strings.ToUpper(strings.TrimSuffix(t.text, "s"))) // in:drafts
	case "is":
		return t.text == "read" && !labelled("UNREAD") || labelled(strings.ToUpper(t.text))
	case "label":
		return slices.ContainsFunc(m.labels, func(id string) bool { return slices.Contains(u.labelNames(id), t.text) })
	case "has", "filename":
		found := false
		m.root.walk(func(p *part) {
			name := strings.ToLower(p.filename)
			found = found || name != "" && (t.field == "has" && t.text == "attachment" || t.field == "filename" && strings.Contains(name, t.text))
		})
		return found
	case "newer_than", "after", "newer":
		return t.since.IsZero() || !m.at.Before(t.since)
	case "older_than", "before", "older":
		return t.since.IsZero() || m.at.Before(t.since)
	case "":
		return in("From", "To", "Cc", "Subject") || strings.Contains(strings.ToLower(m.root.text()), t.text)
	}
	return strings.Contains(strings.ToLower(m.root.text()), t.field+":"+t.text)
}

// labelNames returns what a search may call a label.
func (b *mailbox) labelNames(id string) []string {
	names := []string{strings.ToLower(id)}
	for _, l := range b.labels {
		if name := strings.ToLower(l.name); l.id == id {
			names = append(names, name, strings.NewReplacer(" ", "-", "/", "-").Replace(name))
		}
	}
	return names
}
