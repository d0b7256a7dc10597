package domain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// DefaultMaxResultChars is how much text a result may have if configuration
// does not say.
const DefaultMaxResultChars = 40_000

// markerRoom is what a page leaves free for the marker at its end.
const markerRoom = 300

// PageBytes returns the size of a page that, with its marker, fits a result of
// maxChars characters.
func PageBytes(maxChars int) int {
	if maxChars <= 0 {
		maxChars = DefaultMaxResultChars
	}
	return max(maxChars-markerRoom, maxChars/2)
}

// truncatedResults stands for structured content that is too long.
type truncatedResults struct {
	Truncated bool   `json:"truncated"`
	ResultID  string `json:"result_id"`
	Pages     int    `json:"pages"`
	Message   string `json:"message"`
}

// ResultChars returns how long the text of a result may be, of a tool that
// promises results of a certain length, or 0. An operator who wants shorter
// results than usual gets them of all tools.
func (l *Limits) ResultChars(promised int) int {
	switch {
	case l.MaxResultChars <= 0:
		return max(DefaultMaxResultChars, promised)
	case l.MaxResultChars < DefaultMaxResultChars:
		return l.MaxResultChars
	}
	return max(l.MaxResultChars, promised)
}

// boundResult keeps what is too long of a tool's result in the store and puts its
// first page, with a marker that says how to go on, in its place.
func (c *Call) boundResult(r ToolResult) (ToolResult, error) {
	maxChars := c.catalog.Settings.Limits.ResultChars(c.Tool.MaxResultChars)
	store, p := c.exec.Results, c.Session.Principal
	if r.TextLen() > maxChars && textChars(r.Content) > maxChars {
		cut, err := cut(r, c.Name, p, store)
		if err != nil || r.Results == nil || r.IsError || !c.Tool.strictOutput() {
			return cut, err
		}
		return unfit(cut), nil
	}
	if r.Results == nil || r.IsError {
		return r, nil
	}
	b, err := json.Marshal(r.Results)
	if err != nil {
		return r, fmt.Errorf("structured content: %w", err)
	}
	if len(b) <= maxChars || utf8.RuneCount(b) <= maxChars {
		r.encoded = b
		return r, nil
	}
	kept := store.Keep(p, string(b))
	if !c.Tool.strictOutput() {
		r.Results = kept.stub()
		return r, nil
	}
	message := fmt.Sprintf("%s: the structured result has %s characters; at most %s are allowed. Read it with %s.",
		c.Name, Thousands(utf8.RuneCount(b)), Thousands(maxChars), kept.Call(1))
	r.Content = append(slices.Clone(r.Content), Content{Type: TextContent, Text: message})
	return unfit(r), nil
}

// unfit makes a result that no longer fits its tool's output schema one that
// clients do not hold to the schema.
func unfit(r ToolResult) ToolResult {
	r.Results = failureEnvelope{
		IsError: true, ErrorType: "too_large", Message: "the result is too long for one answer", Hint: "Read on as the text says, or ask for less.",
	}
	r.IsError = true
	return r
}

func textChars(blocks []Content) (n int) {
	for i := range blocks {
		n += utf8.RuneCountInString(blocks[i].Text)
	}
	return n
}

// cut moves the text of r to the store.
func cut(r ToolResult, tool string, p Principal, store *ResultStore) (ToolResult, error) {
	var all strings.Builder
	all.Grow(r.TextLen())
	var others []Content
	for _, c := range r.Content {
		if c.Type == TextContent {
			all.WriteString(c.Text)
		} else {
			others = append(others, c)
		}
	}
	whole := all.String()
	kept := store.Keep(p, whole)
	first, _, err := store.Page(p, kept.ID, 1)
	if err != nil {
		return r, err
	}
	text := first + fmt.Sprintf("\n\n[Output truncated: showing %s of %s characters from %s. Page 1 of %d; to read on: %s]",
		Thousands(utf8.RuneCountInString(first)), Thousands(utf8.RuneCountInString(whole)), tool, kept.Pages, kept.Call(2))
	r.Content = append([]Content{{Type: TextContent, Text: text}}, others...)
	switch results := r.Results.(type) {
	case nil:
	case failureEnvelope:
		results.Message = text
		r.Results = results
	default:
		r.Results = kept.stub()
	}
	return r, nil
}

func (k KeptResult) stub() truncatedResults {
	return truncatedResults{true, k.ID, k.Pages, "The result is too long for one answer; read it with " + k.Call(1) + "."}
}

// Thousands writes n with separators, as people read it: 12,345.
func Thousands[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
