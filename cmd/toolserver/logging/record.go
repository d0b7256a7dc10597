package logging

import (
	"io"
	"os"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/toolserver/toolserver/cmd/toolserver/record"
)

// A Record is what has all that is logged, whatever the level and the file of the log.
type Record struct {
	zapcore.Core
	w    *writer
	file record.File
}

// NewRecord returns a record in a directory. The head has the fields of what holds for all entries, such as the run that
// those have; failed is called when writing fails for the first time.
func NewRecord(open func() (*os.Root, error), started time.Time, run zap.Field, head func() []zap.Field, failed func(error)) *Record {
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{
		MessageKey: "what", TimeKey: "time", EncodeTime: zapcore.RFC3339NanoTimeEncoder, EncodeDuration: zapcore.MillisDurationEncoder, LineEnding: "\n",
	})
	run.AddTo(encoder)
	r := &Record{file: record.File{Open: open, Head: func() []byte {
		b, err := encoder.EncodeEntry(zapcore.Entry{Time: started, Message: record.Start}, head())
		if err != nil {
			return nil // which no field does
		}
		return b.Bytes()
	}}}
	broken := false
	r.w = newWriter(func(lines []byte) (int, error) {
		n, err := r.file.Write(lines)
		if err != nil && !broken {
			failed(err)
		}
		broken = err != nil
		return n, err
	}, droppedEntry(encoder))
	r.Core = zapcore.NewCore(encoder, zapcore.AddSync(struct{ io.Writer }{r.w}), zapcore.DebugLevel) // without Sync: answers do not wait for it
	return r
}

// Flush writes what is recorded, in one call of the system.
func (r *Record) Flush() { _ = r.w.Sync() }

// Close writes what is left.
func (r *Record) Close() {
	r.w.close()
	r.file.Close()
}
