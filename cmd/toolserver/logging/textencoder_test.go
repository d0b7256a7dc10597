package logging

import (
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// call has fields of the kinds that entries of calls have.
type call struct {
	name  string
	asked []string
	late  bool
	took  time.Duration
}

func (c call) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	enc.AddString("name", c.name)
	enc.AddInt("bytes", -12)
	enc.AddBool("late", c.late)
	enc.AddDuration("took", c.took)
	if c.asked == nil {
		return nil
	}
	return enc.AddReflected("asked", c.asked)
}

// TestTextEncoder compares with zap's encoder, which has blanks in the JSON.
func TestTextEncoder(t *testing.T) {
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.ISO8601TimeEncoder
	config.EncodeDuration = zapcore.StringDurationEncoder
	ours, want := newTextEncoder(), zapcore.NewConsoleEncoder(config)
	entry := zapcore.Entry{Level: zapcore.WarnLevel, Time: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.FixedZone("", 7200)), Message: "a\tb"}
	for round := range 4 {
		if round%2 == 1 {
			entry.Time = entry.Time.Local().Add(time.Duration(round) * 600 * time.Millisecond)
		}
		for _, fields := range [][]zapcore.Field{
			nil,
			{zap.String("s", "\"x\n"), zap.Duration("d", time.Second), zap.Time("t", entry.Time), zap.Error(io.EOF)},
			{zap.Namespace("n"), zap.Int("i", 1)},
			{zap.Inline(call{})},
			{zap.Inline(call{"\"é\n", []string{"x"}, true, 1500 * time.Microsecond})},
		} {
			got, err := ours.EncodeEntry(entry, fields)
			if err != nil {
				t.Fatal(err)
			}
			zaps, _ := want.EncodeEntry(entry, fields)
			if want := strings.NewReplacer(`": `, `":`, `, "`, `,"`).Replace(zaps.String()); got.String() != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
		if round == 1 {
			ours, want = ours.Clone(), want.Clone() // from now on with a field of the logger
			ours.AddString("own", "field")
			want.AddString("own", "field")
		}
	}
}

// BenchmarkTextEncoder writes entries of calls.
func BenchmarkTextEncoder(b *testing.B) {
	encoder, fields := newTextEncoder(), []zapcore.Field{zap.Inline(call{name: "read_file", took: 48123})}
	b.ReportAllocs()
	for b.Loop() {
		line, err := encoder.EncodeEntry(zapcore.Entry{Time: time.Now(), Message: "call"}, fields)
		if err != nil {
			b.Fatal(err)
		}
		line.Free()
	}
}
