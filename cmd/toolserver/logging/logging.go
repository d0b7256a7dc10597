// Package logging writes the program's log: never to standard output, and never
// so that callers wait for a log that is not being read.
package logging

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/toolserver/toolserver/config"
)

// Logger is a log that its owner closes. Its Sync writes what has been logged, as
// far as the log accepts it at once.
type Logger struct {
	*zap.Logger
	free []func() // called by Close, the last first
}

// New returns the logger that a configuration describes. It writes to stderr
// unless the configuration names a file.
func New(c config.Logging, stderr io.Writer) (*Logger, error) {
	level, err := zapcore.ParseLevel(c.Level)
	if err != nil {
		return nil, err
	}
	l := &Logger{}
	out := stderr
	if c.File != "" {
		f, err := open(c.File)
		if err != nil {
			return nil, err
		}
		out = f
		l.free = append(l.free, func() { f.Close() })
	}
	encoder := newTextEncoder()
	if c.Format == "json" {
		enc := zap.NewProductionEncoderConfig()
		enc.EncodeTime = zapcore.ISO8601TimeEncoder
		enc.EncodeDuration = zapcore.StringDurationEncoder
		encoder = zapcore.NewJSONEncoder(enc)
	}
	write, free := output(out)
	w := newWriter(write, droppedEntry(encoder))
	l.free = append(l.free, free, w.close)
	l.Logger = zap.New(zapcore.NewCore(encoder, w, level), zap.Hooks(func(e zapcore.Entry) error {
		if e.Level >= zapcore.WarnLevel {
			return w.Sync()
		}
		return nil
	}))
	// Libraries log what others send them, as net/http does with unexpected
	// responses. That belongs into the log only for debugging.
	restore, err := zap.RedirectStdLogAt(l.Logger, zapcore.DebugLevel)
	if err != nil {
		l.Close()
		return nil, err
	}
	l.free = append(l.free, restore)
	return l, nil
}

func open(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// Check reports why a file cannot be logged to. It leaves none behind, and does not look
// at what is no file, which may wait for a reader.
func Check(file string) error {
	info, err := os.Stat(file)
	absent := errors.Is(err, fs.ErrNotExist)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	f, err := open(file)
	if err != nil {
		return err
	}
	if absent {
		defer os.Remove(file)
	}
	return f.Close()
}

// Close writes what can still be written, for a second at most.
func (l *Logger) Close() {
	for _, free := range slices.Backward(l.free) {
		free()
	}
}

// droppedEntry returns what makes the entry that reports dropped lines.
func droppedEntry(encoder zapcore.Encoder) func(lines int) []byte {
	return func(lines int) []byte {
		e := zapcore.Entry{Level: zapcore.WarnLevel, Time: time.Now(), Message: "log lines were dropped: the log was not read, or could not be written"}
		b, err := encoder.EncodeEntry(e, []zapcore.Field{zap.Int("lines", lines)})
		if err != nil {
			return fmt.Appendf(nil, "%d log lines were dropped\n", lines)
		}
		defer b.Free()
		return bytes.Clone(b.Bytes())
	}
}
