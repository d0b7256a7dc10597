package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valkey-io/valkey-go"

	"github.com/toolserver/toolserver/osfile"
)

// server is Valkey, or another server that speaks RESP. It is safe for concurrent use.
type server struct {
	option valkey.ClientOption
	client atomic.Pointer[valkey.Client] // nil until it was reached
	bucket *valkey.Lua
}

// gcra takes of a bucket (generic cell rate algorithm): its value is when it will be full again, in microseconds of the server's clock, so that
// the clocks of replicas do not matter.
const gcra = `
local time = redis.call('TIME')
local now, limit, n = time[1] * 1000000 + time[2], tonumber(ARGV[1]), tonumber(ARGV[2])
local each = 60000000 / limit
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
local left = math.floor((now + 60000000 - full) / each + 0.0001)
local got = math.min(left, n)
if got <= 0 then return {0, 0, math.ceil(full + each - 60000000 - now)} end
redis.call('SET', KEYS[1], string.format('%.0f', full + got * each), 'PX', 61000)
return {got, left - got, 0}`

func newServer(option valkey.ClientOption) *server {
	return &server{option: option, bucket: valkey.NewLuaScript(gcra)}
}

// Buffers of a connection: a few are enough for what replicas ask.
const connectionBuffer = 64 << 10

// parse returns how to reach the server that the settings name.
func (o Settings) parse() (valkey.ClientOption, error) {
	option, err := valkey.ParseURL(o.URL)
	switch {
	case err != nil:
		return option, errors.New("it is not the address of a store") // and may have a password, which errors of parsing quote
	case o.Password != "":
		text, err := os.ReadFile(o.Password)
		if err != nil {
			return option, fmt.Errorf("password_file: %w", err)
		}
		option.Password = strings.TrimSpace(string(text))
	}
	if o.CA != "" {
		if option.TLSConfig == nil {
			return option, errors.New("ca_file is for addresses with rediss://")
		}
		if option.TLSConfig.RootCAs, err = osfile.Authorities(o.CA); err != nil {
			return option, fmt.Errorf("ca_file: %w", err)
		}
	}
	if option.TLSConfig != nil {
		option.TLSConfig.MinVersion = tls.VersionTLS12
	}
	option.Dialer.Timeout = cmp.Or(option.Dialer.Timeout, slow)
	option.ConnWriteTimeout, option.DisableCache, option.DisableRetry, option.ClientName = 2*slow, true, true, "toolserver"
	option.ReadBufferEachConn, option.WriteBufferEachConn, option.PipelineMultiplex, option.RingScaleEachConn = connectionBuffer, connectionBuffer, 1, 8
	return option, nil
}

// Reach reports whether the server answers now.
func (o Settings) Reach(ctx context.Context) error {
	option, err := o.parse()
	if err != nil {
		return err
	}
	v := newServer(option)
	defer v.close()
	return v.probe(ctx, slow)
}

// CheckURL reports what is wrong with the address of a store.
func CheckURL(text string) error {
	if text == "" {
		return nil
	}
	if _, err := (Settings{URL: text}).parse(); err != nil {
		return fmt.Errorf("%w; write redis://HOST:PORT, or rediss://USER@HOST:PORT/0 with TLS, and passwords in password_file", err)
	}
	return nil
}

// client asks a server that was reached.
type client struct {
	valkey.Client
	bucket *valkey.Lua
}

// connected returns the client, which is made when the server can be reached.
func (v *server) connected() (client, error) {
	if c := v.client.Load(); c != nil {
		return client{*c, v.bucket}, nil
	}
	return client{}, errors.New("it was not reached yet")
}

// probe reports whether the server takes in time what is asked of it: one that answers may still refuse to run the script, or to write.
func (v *server) probe(ctx context.Context, limit time.Duration) error {
	if v.client.Load() == nil {
		c, err := valkey.NewClient(v.option)
		if err != nil {
			return err
		}
		if !v.client.CompareAndSwap(nil, &c) {
			c.Close()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, _, _, err := client{*v.client.Load(), v.bucket}.take(ctx, "ts:probe", 1_000_000, 1) // which always writes
	return err
}

// local returns the address from which this machine reaches the server: there, others that reach the server reach this machine, too.
func (v *server) local(ctx context.Context) string {
	dialer := net.Dialer{Timeout: slow}
	conn, err := dialer.DialContext(ctx, "udp", v.option.InitAddress[0]) // which sends nothing
	if err != nil {
		return "127.0.0.1" // it is a socket of this machine
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP.String()
}

func (v *server) close() {
	if c := v.client.Load(); c != nil {
		(*c).Close()
	}
}

// take takes up to n of what a bucket has, which holds limit and is filled again in a minute. It returns how many that were, how many are left and, if it
// was none, when there will be one.
func (c client) take(ctx context.Context, key string, limit, n int) (got, left int, wait time.Duration, err error) {
	answer, err := c.bucket.Exec(ctx, c.Client, []string{key}, []string{strconv.Itoa(limit), strconv.Itoa(n)}).AsIntSlice()
	if err == nil && len(answer) != 3 {
		err = fmt.Errorf("the script returned %v", answer)
	}
	if err != nil {
		return 0, 0, 0, err
	}
	return int(answer[0]), int(answer[1]), time.Duration(answer[2]) * time.Microsecond, nil
}

func (c client) put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return c.Do(ctx, c.B().Set().Key(key).Value(valkey.BinaryString(value)).Px(ttl).Build()).Error()
}

// once puts a key that there was not, and reports whether that was so.
func (c client) once(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	err := c.Do(ctx, c.B().Set().Key(key).Value("").Nx().Px(ttl).Build()).Error()
	if valkey.IsValkeyNil(err) {
		return false, nil
	}
	return err == nil, err
}

// get returns nil if there is no value.
func (c client) get(ctx context.Context, key string) ([]byte, error) {
	b, err := c.Do(ctx, c.B().Get().Key(key).Build()).AsBytes()
	switch {
	case valkey.IsValkeyNil(err):
		return nil, nil
	case err == nil && b == nil:
		b = []byte{}
	}
	return b, err
}

// add adds to a number, which is gone some time after the last addition, and returns the sum.
func (c client) add(ctx context.Context, key string, n int64, ttl time.Duration) (int64, error) {
	answers := c.DoMulti(ctx, c.B().Incrby().Key(key).Increment(n).Build(), c.B().Pexpire().Key(key).Milliseconds(ttl.Milliseconds()).Build())
	return answers[0].AsInt64()
}

// putField puts one value of a set, which is gone some time after the last was put.
func (c client) putField(ctx context.Context, key, field string, value []byte, ttl time.Duration) error {
	answers := c.DoMulti(ctx, c.B().Hset().Key(key).FieldValue().FieldValue(field, valkey.BinaryString(value)).Build(),
		c.B().Pexpire().Key(key).Milliseconds(ttl.Milliseconds()).Build())
	return errors.Join(answers[0].Error(), answers[1].Error())
}

// fields returns the values of a set.
func (c client) fields(ctx context.Context, key string) (map[string]string, error) {
	return c.Do(ctx, c.B().Hgetall().Key(key).Build()).AsStrMap()
}

// addField puts a value into a set that has none of that name, and reports whether that was so. The set is gone some time after the last.
func (c client) addField(ctx context.Context, key, field string, value []byte, ttl time.Duration) (first bool, err error) {
	answers := c.DoMulti(ctx, c.B().Hsetnx().Key(key).Field(field).Value(valkey.BinaryString(value)).Build(),
		c.B().Pexpire().Key(key).Milliseconds(ttl.Milliseconds()).Build())
	first, err = answers[0].AsBool()
	return first, errors.Join(err, answers[1].Error())
}

// field returns a value of a set, nil if there is none.
func (c client) field(ctx context.Context, key, field string) ([]byte, error) {
	b, err := c.Do(ctx, c.B().Hget().Key(key).Field(field).Build()).AsBytes()
	if valkey.IsValkeyNil(err) {
		return nil, nil
	}
	return b, err
}

// removeFields removes values of a set.
func (c client) removeFields(ctx context.Context, key string, fields []string) error {
	return c.Do(ctx, c.B().Hdel().Key(key).Field(fields...).Build()).Error()
}

// publish sends a message to whoever receives a channel, and returns how many that are.
func (c client) publish(ctx context.Context, channel string, message []byte) (int64, error) {
	return c.Do(ctx, c.B().Publish().Channel(channel).Message(valkey.BinaryString(message)).Build()).AsInt64()
}

// receive receives channels until ctx ends or the connection does.
func (v *server) receive(ctx context.Context, channels []string, got func(string)) error {
	c, err := v.connected()
	if err != nil {
		return err
	}
	return c.Receive(ctx, c.B().Subscribe().Channel(channels...).Build(), func(m valkey.PubSubMessage) { got(m.Message) })
}
