// Package screen draws on a terminal: all of it, or a line that says how far work has got.
package screen

import (
	"cmp"
	"context"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Size returns how many columns and lines a terminal has, or the usual ones, and false if a stream is none that can be drawn on.
func Size(stream any) (columns, lines int, ok bool) {
	f, isFile := stream.(*os.File)
	if !isFile {
		return 0, 0, false
	}
	columns, lines, err := term.GetSize(int(f.Fd()))
	return cmp.Or(columns, 80), cmp.Or(lines, 24), err == nil && os.Getenv("TERM") != "dumb"
}

// wide is from where on characters may take two columns; none before does.
const wide = 0x1100

// Fit cuts a text to the columns that there are.
func Fit(text string, columns int) string {
	for i, r := range text {
		columns--
		if r >= wide {
			columns--
		}
		if columns < 0 {
			return text[:i]
		}
	}
	return text
}

// What switches a terminal to a screen without a cursor on which no line wraps, and back.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leave = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// lookPause is how often the size of a terminal is looked at.
const lookPause = 200 * time.Millisecond

// Keys that end a full screen.
const (
	quit      = 'q'
	interrupt = 3 // Ctrl-C
)

// Full shows the lines that draw returns for so many columns and lines, again each second and after each key that typed is called with, until
// q or Ctrl-C is typed, the terminal is gone or ctx ends. The terminal is then as it was, also after a panic.
func Full(ctx context.Context, in, out *os.File, draw func(columns, lines int) []string, typed func(key byte)) error {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	defer func() {
		_, _ = out.WriteString(leave)
		_ = term.Restore(int(in.Fd()), before)
	}()
	if _, err = out.WriteString(enter); err != nil {
		return err
	}
	keys := make(chan byte)
	go readKeys(ctx, in, keys)
	tick := time.NewTicker(lookPause)
	defer tick.Stop()
	var drawn time.Time
	for width, height := 0, 0; ; {
		columns, lines, _ := Size(out)
		if columns != width || lines != height || time.Since(drawn) >= time.Second {
			if err := show(out, draw(columns, lines), columns, lines); err != nil {
				return err
			}
			width, height, drawn = columns, lines, time.Now()
		}
		select {
		case key, more := <-keys:
			if !more || key == quit || key == interrupt {
				return nil
			}
			typed(key)
			drawn = time.Time{}
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// show writes all lines at once, each over the one before, so that nothing flickers.
func show(out *os.File, all []string, columns, lines int) error {
	var b strings.Builder
	b.WriteString("\x1b[H")
	for i, line := range all[:min(len(all), lines)] {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(Fit(line, columns) + "\x1b[K")
	}
	_, err := out.WriteString(b.String() + "\x1b[J")
	return err
}

// readKeys passes on what is typed. A read that is under way ends with the program.
func readKeys(ctx context.Context, in *os.File, keys chan<- byte) {
	defer close(keys)
	for one := make([]byte, 1); ; {
		if n, err := in.Read(one); err != nil || n == 0 {
			return
		}
		select {
		case keys <- one[0]:
		case <-ctx.Done():
			return
		}
	}
}
