package runner

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const pumpSize = 32 << 10

// pumpBuffers saves an allocation of pumpSize for each stream of each command.
type pumpBuffers struct{ sync.Pool }

func (b *pumpBuffers) get() *[pumpSize]byte {
	if buf, ok := b.Get().(*[pumpSize]byte); ok {
		return buf
	}
	return new([pumpSize]byte)
}

// A pump reads one pipe of a command to its end, and so keeps the command from
// ever waiting for a reader.
type pump struct {
	pipe *os.File
	into []*capture
	live *live // may be nil
	done chan struct{}
}

func startPump(pipe *os.File, live *live, buffers *pumpBuffers, into ...*capture) *pump {
	p := &pump{pipe: pipe, into: into, live: live, done: make(chan struct{})}
	go p.run(buffers)
	return p
}

func (p *pump) run(buffers *pumpBuffers) {
	defer close(p.done)
	buf := buffers.get()
	defer buffers.Put(buf)
	held := 0 // bytes of an unfinished character at the front of buf, for live
	for {
		n, err := p.pipe.Read(buf[held:])
		for _, c := range p.into {
			c.write(buf[held : held+n])
		}
		if p.live == nil {
			if err != nil {
				return
			}
			continue
		}
		b := buf[:held+n]
		whole := b
		if err == nil {
			whole = trimPartialEnd(b)
		}
		p.live.send(whole)
		held = copy(buf[:], b[len(whole):])
		if err != nil {
			return
		}
	}
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

// live hands output to the callback of a request, as far as it keeps up.
type live struct {
	chunks  chan string
	done    chan struct{}
	dropped atomic.Int64
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
	if len(b) == 0 {
		return
	}
	if len(l.chunks) == cap(l.chunks) { // spare the copy
		l.dropped.Add(int64(len(b)))
		return
	}
	select {
	case l.chunks <- validText(b):
	default:
		l.dropped.Add(int64(len(b)))
	}
}

// finish is called when no pump sends any more. It waits for a callback that is
// running, but not longer than wait; what then still waits to be sent is dropped.
func (l *live) finish(wait time.Duration) (dropped int64) {
	if l == nil {
		return 0
	}
	close(l.chunks)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-l.done:
	case <-timer.C:
		for text := range l.chunks {
			l.dropped.Add(int64(len(text)))
		}
	}
	return l.dropped.Load()
}
