package upstream

import (
	"bytes"
	"fmt"
	"strings"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/domain/redact"
)

// maxWords bounds what of the standard error a message repeats.
const maxWords = 300

// naming matches the line of an error that names it, which other lines follow: where it
// happened, how to find out more. npm says it before that.
var (
	naming = lazyregexp.New(`(?m)^(?:Uncaught |docker: |thread .* )?` +
		`(?:(?:\w+[.$])*\w*(?:Error|Exception)\b.{0,40}: ?\S|panic: |panicked at |fatal(?: error)?: |Unhandled exception|Exception in thread |` +
		`error(?:\[\w+\])?: |ERROR: )(?:.*:\n.+|.*)`)
	notices   = lazyregexp.New(`(?m)^npm notice.*\n?`)
	namingNPM = lazyregexp.New(`(?m)^npm (?:ERR!|error) (?:\S+ ){2,}\S.*`)
)

// lastWords returns what of the standard error says why a program failed, or else its end, to
// be added to a sentence.
func (c *connection) lastWords() string {
	text := strings.TrimSpace(notices().ReplaceAllString(masked(c.child.Stderr.String(), c.hidden), ""))
	if text == "" {
		return ""
	}
	if said := namingNPM().FindString(text); said != "" {
		text = said
	} else if all := naming().FindAllString(text, -1); len(all) > 0 {
		text = all[len(all)-1]
	} else if i := strings.LastIndexByte(text, '\n'); len(text) > maxWords && i > 0 && len(text)-i < maxWords {
		text = text[i+1:]
	} else {
		text = text[max(0, len(text)-maxWords):]
	}
	return fmt.Sprintf("; it last wrote: %q", text[:min(len(text), maxWords)])
}

// stderrLog logs what a program writes to its standard error, line by line.
type stderrLog struct {
	log     *zap.Logger
	hidden  []string // secrets of the program
	rest    []byte
	limit   *rate.Limiter
	dropped int // lines since the last that was logged
}

// Bounds of what is logged: of a line, and lines a second, after as many as a start takes.
const (
	maxErrorLine   = 4 << 10
	errorLines     = 20
	errorLineBurst = 500
)

func newStderrLog(log *zap.Logger, hidden []string) *stderrLog {
	return &stderrLog{log: log, hidden: hidden, limit: rate.NewLimiter(errorLines, errorLineBurst)}
}

func (l *stderrLog) line(text string) {
	switch {
	case text == "":
		return
	case !l.limit.Allow():
		l.dropped++
		return
	case l.dropped > 0:
		l.log.Warn("the server writes too much to its standard error; lines are left out", zap.Int("lines", l.dropped))
		l.dropped = 0
	}
	l.log.Info(StderrMessage, zap.String(StderrKey, text))
}

// Write never fails.
func (l *stderrLog) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 && len(l.rest) <= maxErrorLine {
			return len(p), nil
		}
		line := l.rest
		if i >= 0 {
			line = l.rest[:i]
		}
		l.line(strings.TrimRight(masked(string(line[:min(len(line), maxErrorLine)]), l.hidden), "\r"))
		l.rest = append(l.rest[:0], l.rest[min(len(line)+1, len(l.rest)):]...)
	}
}

// The log entry of a line that the program of a server has written to standard error.
const (
	StderrMessage = "stderr"
	StderrKey     = "line"
)

// issued matches the forms of keys that services give out, with what stands before them.
var issued = lazyregexp.New(`(^|[^A-Za-z0-9_/.-])(?:sk-|pk_live_|sk_live_|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|hf_|` +
	`eyJ[A-Za-z0-9_-]{10,}\.|npm_|pat-)[A-Za-z0-9_.-]{8,}`)

// assigned matches a name of a secret, and its value.
var assigned = lazyregexp.New(`(?i)((?:authorization|token|secret|passw(?:or)?d|api[-_]?key|cookie)["']?\s*[:=]\s*["']?` +
	`(?:(?:bearer|basic)\s+)?|\bbearer\s+)([^\s"',;]{8,})`)

// HasIssued reports whether there is a key in a text that has the form of those that
// services give out.
func HasIssued(text string) bool { return issued().MatchString(text) }

// masked returns what a program has written for people, without secrets that it has from
// the configuration and without what looks like others.
func masked(text string, hidden []string) string {
	text = strings.ToValidUTF8(redact.Text(text, hidden), "?")
	text = issued().ReplaceAllString(text, "${1}"+redact.Mark)
	return assigned().ReplaceAllStringFunc(text, func(found string) string {
		parts := assigned().FindStringSubmatch(found)
		if !strings.ContainsAny(parts[2], "0123456789") { // a word, as in TOKEN: required
			return found
		}
		return parts[1] + redact.Mark
	})
}
