package runner

import (
	"os"
	"time"
)

const pumpSize = 32 << 10

// A pump reads one pipe of a command to its end, and so keeps the command from
// ever waiting for a reader.
type pump struct {
	pipe *os.File
	done chan struct{}
}

func (c *call) startPump(pipe *os.File, into *Output) *pump {
	p := &pump{pipe: pipe, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		buf := make([]byte, pumpSize)
		held := 0 // bytes of an unfinished character at the front of buf, for live
		for err := error(nil); err == nil; {
			var n int
			n, err = pipe.Read(buf[held:])
			b := buf[:held+n]
			into.write(b[held:])
			if c.live != nil {
				whole := b
				if err == nil {
					whole = trimPartialEnd(b)
				}
				c.live.send(whole)
				held = copy(buf, b[len(whole):])
			}
		}
	}()
	return p
}

// finish waits for the end of the pipe, but not longer than wait: something
// outside the command's processes may hold its other end.
func (p *pump) finish(wait time.Duration) {
	select {
	case <-p.done:
	default:
		if p.pipe.SetReadDeadline(time.Now().Add(wait)) != nil {
			// No deadlines on this system: closing has the read return.
			timer := time.AfterFunc(wait, func() { p.pipe.Close() })
			defer timer.Stop()
		}
		<-p.done
	}
	p.pipe.Close()
}

// live passes output to the callback of a request, as fast as that takes it, and
// drops the rest. A nil live drops everything.
type live struct {
	chunks chan string
	done   chan struct{}
}

// liveChunks bounds what waits for a slow callback, to 512 KiB.
const liveChunks = 16

func startLive(f func(string)) *live {
	if f == nil {
		return nil
	}
	l := &live{chunks: make(chan string, liveChunks), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for text := range l.chunks {
			f(text)
		}
	}()
	return l
}

func (l *live) send(b []byte) {
	if len(b) == 0 || len(l.chunks) == cap(l.chunks) { // spare the copy
		return
	}
	select {
	case l.chunks <- validText(b):
	default:
	}
}

// finish is called when no pump sends any more. It waits for a callback that is
// running, but not longer than wait; what then still waits to be sent is dropped.
func (l *live) finish(wait time.Duration) {
	if l == nil {
		return
	}
	close(l.chunks)
	select {
	case <-l.done:
	case <-time.After(wait):
		for range l.chunks { // takes them from the callback
		}
	}
}
