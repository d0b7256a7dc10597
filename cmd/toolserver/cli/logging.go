package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"toolserver/config"
)

// flushInterval is how long an entry may wait to be written.
const flushInterval = 100 * time.Millisecond

// promptCore flushes after each entry that is more than a report.
type promptCore struct {
	zapcore.Core
	batch *zapcore.BufferedWriteSyncer
}

func (c *promptCore) With(fields []zapcore.Field) zapcore.Core {
	return &promptCore{c.Core.With(fields), c.batch}
}

func (c *promptCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c *promptCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	if err := c.Core.Write(e, fields); err != nil || e.Level < zapcore.ErrorLevel {
		return err
	}
	return c.batch.Sync()
}

// newLogger returns the logger a configuration asks for, which writes to stderr
// unless it names a file. Close flushes it.
func newLogger(c config.Logging, stderr io.Writer) (log *zap.Logger, closeLog func(), err error) {
	level, err := zapcore.ParseLevel(c.Level)
	if err != nil {
		return nil, nil, fmt.Errorf("logging.level: %w", err)
	}
	out, closeFile := stderr, func() {}
	if c.File != "" {
		f, err := os.OpenFile(c.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("logging.file: %w", err)
		}
		out, closeFile = f, func() { f.Close() }
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewConsoleEncoder(enc)
	if c.Format == "json" {
		encoder = zapcore.NewJSONEncoder(enc)
	}
	// Entries about calls come by the thousand: they are written a batch at a
	// time, those about trouble at once.
	// Writing is enough: pipes and terminals refuse to be synced.
	batch := &zapcore.BufferedWriteSyncer{WS: zapcore.AddSync(struct{ io.Writer }{out}), FlushInterval: flushInterval}
	core := &promptCore{zapcore.NewCore(encoder, batch, level), batch}
	log = zap.New(core)
	// Libraries print what strangers send them, such as net/http of answers
	// nobody asked for. That is for those who look for trouble.
	restore, err := zap.RedirectStdLogAt(log, zapcore.DebugLevel)
	if err != nil {
		closeFile()
		return nil, nil, err
	}
	return log, func() { restore(); _ = batch.Stop(); closeFile() }, nil
}
