package logging

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	"toolserver/rawjson"
)

// textEncoder writes what zap's console encoder writes of an entry without caller
// and logger name, but faster: that one formats time and level with package fmt, and
// takes another encoder for the fields of each entry.
type textEncoder struct {
	zapcore.Encoder // writes the fields of entries that are not of calls
	lines           buffer.Pool
	second          *atomic.Pointer[second]
	bare            bool // no fields are in the Encoder
}

func newTextEncoder() zapcore.Encoder {
	fields := zapcore.EncoderConfig{EncodeTime: zapcore.ISO8601TimeEncoder, EncodeDuration: zapcore.StringDurationEncoder}
	return textEncoder{zapcore.NewConsoleEncoder(fields), buffer.NewPool(), new(atomic.Pointer[second]), true}
}

// Clone is called for loggers with fields of their own.
func (e textEncoder) Clone() zapcore.Encoder {
	return textEncoder{e.Encoder.Clone(), e.lines, e.second, false}
}

// EncodeEntry returns the line of an entry.
func (e textEncoder) EncodeEntry(entry zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	line := e.lines.Get()
	e.appendTime(line, entry.Time)
	line.AppendByte('\t')
	line.AppendString(entry.Level.String())
	line.AppendByte('\t')
	line.AppendString(entry.Message)
	if e.bare && len(fields) == 1 && fields[0].Type == zapcore.InlineMarshalerType {
		line.AppendByte('\t')
		err := appendMembers(line, fields[0].Interface.(zapcore.ObjectMarshaler))
		line.AppendByte('\n')
		return line, err
	}
	context, err := e.Encoder.EncodeEntry(zapcore.Entry{}, fields)
	if err != nil {
		return nil, err
	}
	defer context.Free()
	if context.Len() > len("\n") {
		line.AppendByte('\t')
	}
	_, _ = line.Write(context.Bytes())
	return line, nil
}

// second is what the times of all entries of one second have in common, in the local
// time zone.
type second struct {
	unix       int64
	head, zone string // around the milliseconds
}

// appendTime appends what the layout 2006-01-02T15:04:05.000Z0700 makes of t.
func (e textEncoder) appendTime(line *buffer.Buffer, t time.Time) {
	s := e.second.Load()
	if t.Location() != time.Local {
		s = newSecond(t)
	} else if s == nil || s.unix != t.Unix() {
		s = newSecond(t)
		e.second.Store(s)
	}
	milli := t.Nanosecond() / int(time.Millisecond)
	line.AppendString(s.head)
	line.AppendByte('0' + byte(milli/100))
	line.AppendByte('0' + byte(milli/10%10))
	line.AppendByte('0' + byte(milli%10))
	line.AppendString(s.zone)
}

func newSecond(t time.Time) *second {
	return &second{t.Unix(), t.Format("2006-01-02T15:04:05."), t.Format("Z0700")}
}

// members writes the fields of a call, of which there is an entry for each call. The
// kinds that every call has are appended at once, and what else there is follows.
type members struct {
	*zapcore.MapObjectEncoder // what else there is
	line                      *buffer.Buffer
	some                      bool // there is a member already
}

// memberPool keeps members for other entries.
var memberPool = sync.Pool{New: func() any { return &members{MapObjectEncoder: zapcore.NewMapObjectEncoder()} }}

// appendMembers appends the object that fields write.
func appendMembers(line *buffer.Buffer, fields zapcore.ObjectMarshaler) error {
	m := memberPool.Get().(*members)
	defer memberPool.Put(m)
	m.line, m.some = line, false
	line.AppendByte('{')
	err := fields.MarshalLogObject(m)
	if len(m.Fields) > 0 {
		err = cmp.Or(err, m.appendRest())
	}
	line.AppendByte('}')
	return err
}

// appendRest appends the fields of other kinds, in the order of their names.
func (m *members) appendRest() error {
	defer clear(m.Fields)
	for _, key := range slices.Sorted(maps.Keys(m.Fields)) {
		value, err := json.Marshal(m.Fields[key])
		if err != nil {
			return err
		}
		m.key(key)
		m.line.AppendBytes(value)
	}
	return nil
}

// key begins a member. Names of fields are constants of ours that need no escapes.
func (m *members) key(name string) {
	if m.some {
		m.line.AppendString(`, "`)
	} else {
		m.line.AppendByte('"')
	}
	m.some = true
	m.line.AppendString(name)
	m.line.AppendString(`": `)
}

// quote appends a string in place: what AppendString returns is in the buffer already
// if there was room for it.
func (m *members) quote(s string) {
	m.line.AppendBytes(rawjson.AppendString(m.line.Bytes()[m.line.Len():], s))
}

// AddString implements [zapcore.ObjectEncoder], as do the following.
func (m *members) AddString(key, value string) {
	m.key(key)
	m.quote(value)
}

// AddInt appends a number.
func (m *members) AddInt(key string, value int) {
	m.key(key)
	m.line.AppendInt(int64(value))
}

// AddBool appends true or false.
func (m *members) AddBool(key string, value bool) {
	m.key(key)
	m.line.AppendBool(value)
}

// AddDuration appends a duration as people write it.
func (m *members) AddDuration(key string, value time.Duration) { m.AddString(key, value.String()) }
