package screen

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain/call"
)

const (
	barAfter   = 500 * time.Millisecond // work that is shorter shows nothing
	barPause   = 100 * time.Millisecond
	barColumns = 20
	manySteps  = 20 // from which on it can be told how long the others will take
)

// Bar is the line of a terminal that says how far work has got. A nil Bar shows nothing.
type Bar struct {
	out   io.Writer
	look  func() call.Progress
	began time.Time
	ended chan struct{}

	mu     sync.Mutex
	shown  bool
	paused bool
}

// NewBar shows how far work has got, as look says, until Stop is called. It is nil where there is no terminal.
func NewBar(out io.Writer, look func() call.Progress) *Bar {
	if _, _, ok := Size(out); !ok {
		return nil
	}
	b := &Bar{out: out, look: look, began: time.Now(), ended: make(chan struct{})}
	go b.run()
	return b
}

func (b *Bar) run() {
	for next := time.After(barAfter); ; next = time.After(barPause) {
		select {
		case <-next:
			b.draw()
		case <-b.ended:
			return
		}
	}
}

func (b *Bar) draw() {
	p := b.look()
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.ended:
		return
	default:
	}
	if columns, _, ok := Size(b.out); ok && !b.paused {
		fmt.Fprintf(b.out, "\r%s\x1b[K", Fit(line(p, time.Since(b.began)), columns-1))
		b.shown = true
	}
}

// Above prints something where the line was, which comes back below it.
func (b *Bar) Above(print func()) {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.clear()
	}
	print()
}

// Pause takes the line away, or has it come back.
func (b *Bar) Pause(now bool) {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.paused = now
		b.clear()
	}
}

// Stop takes the line away.
func (b *Bar) Stop() {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		close(b.ended)
		b.clear()
	}
}

// clear takes away what is on the line. The caller holds mu.
func (b *Bar) clear() {
	if b.shown {
		fmt.Fprint(b.out, "\r\x1b[K")
		b.shown = false
	}
}

// line returns what is shown after some time: a bar if it is known how much there is to do, else that something goes on.
func line(p call.Progress, after time.Duration) string {
	message := call.Visible(p.Message)
	if p.Total <= 0 || p.Done > p.Total || p.Done < 0 {
		return fmt.Sprintf("%c %s  %s", `|/-\`[int(after/barPause)%4], clock(after), message)
	}
	part := p.Done / p.Total
	full := int(part * barColumns)
	text := fmt.Sprintf("[%s%s] %3.0f%%", strings.Repeat("#", full), strings.Repeat("-", barColumns-full), 100*part)
	rate := p.Done / after.Seconds()
	if p.Bytes {
		text += fmt.Sprintf("  %.1f MB/s", rate/(1<<20))
	} else if rate >= 1 {
		text += fmt.Sprintf("  %.0f/s", rate)
	}
	if left := (p.Total - p.Done) / rate; rate > 0 && left < 1e6 && (p.Bytes || p.Total >= manySteps) {
		text += "  " + clock(time.Duration(left*float64(time.Second))) + " left"
	} else {
		text += "  " + clock(after)
	}
	return text + "  " + message
}

// clock writes a duration as minutes and seconds.
func clock(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
