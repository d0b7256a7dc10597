package shell

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox/runner"
)

// inBackground is what to do with a command that takes longer than a call may.
const inBackground = "run it with bash and background: true"

// maxTimeout is the longest time that an operator may allow a command, in seconds. The
// schema accepts more, so that milliseconds get a message of their own.
const maxTimeout = 24 * 60 * 60

// A timeLimit is how long a command may run: what its caller gives, but no longer than
// its tool allows.
type timeLimit struct {
	time.Duration
	given   int // seconds; 0 for none
	longest time.Duration
	setting string // of the longest
}

// timeout returns the time limit of a command whose caller gives seconds, or 0. It
// rejects what was meant as milliseconds.
func (t tool) timeout(seconds int, longest time.Duration) (timeLimit, error) {
	most, setting := int(math.Ceil(longest.Seconds())), "tools."+t.name+".timeout"
	if seconds > maxTimeout || seconds > most && seconds%1000 == 0 {
		return timeLimit{}, domain.InvalidArgument(t.name, "timeout", fmt.Sprintf(
			"is in seconds and at most %d (%s), so %d is too long; if that was in milliseconds, give %d", most, setting, seconds, min(max(seconds/1000, 1), most)))
	}
	l := timeLimit{given: seconds, longest: longest, setting: setting}
	l.Duration = min(cmp.Or(time.Duration(seconds)*time.Second, DefaultTimeout), longest)
	return l, nil
}

// describeTimeout says in the schema of a tool which timeouts it allows.
func (t tool) describeTimeout(d domain.Tool, longest time.Duration, more string) domain.Tool {
	most := int(math.Ceil(longest.Seconds()))
	d.Input = d.Input.Describing("timeout", fmt.Sprintf("Timeout in seconds; default %g%s.", min(DefaultTimeout, t.limit).Seconds(), more), most)
	return d
}

// ended says whose limit has ended a command, and what else is possible.
func (l timeLimit) ended() string {
	if l.Duration < l.longest {
		whose := "The timeout of the call"
		if l.given == 0 {
			whose = "The default timeout"
		}
		return fmt.Sprintf("%s ended it: give a timeout of up to %g seconds, or %s.", whose, l.longest.Seconds(), inBackground)
	}
	asked := ""
	if time.Duration(l.given)*time.Second > l.longest {
		asked = fmt.Sprintf(", not the %d seconds of the call", l.given)
	}
	return fmt.Sprintf("The operator's limit (%s) ended it%s: %s, or ask the operator to raise the limit.", l.setting, asked, inBackground)
}

// timedOut is the note of a command that timed out.
func timedOut(res runner.Result, l timeLimit) string {
	note := "timed out after " + call.Seconds(l.Duration)
	if waited := res.Waited.Round(time.Second); waited > 0 {
		note += ", of which " + call.Seconds(waited) + " waiting until other commands had ended"
	}
	return note
}
