package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// connect negotiates the protocol version. If none is given it tries the modern
// one, which a server of another one answers with an error or not at all.
func (c *Client) connect(ctx context.Context, t transport) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.ConnectTimeout)
	defer cancel()
	c.transport = t
	version := c.opts.Protocol
	if _, old := t.(*sseTransport); old || c.opts.Handshake {
		version = cmp.Or(version, mcp.LATEST_LEGACY_PROTOCOL_VERSION)
	}
	var err error
	if version != "" && !mcp.IsModernProtocol(version) {
		err = c.initialize(ctx, version)
	} else {
		err = c.negotiate(ctx, version)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	t.connected()
	return c, nil
}

// patience is how long a server may take to answer what it need not know.
func (o *Options) patience() time.Duration { return min(10*time.Second, o.ConnectTimeout/3) }

// negotiate tries the modern version, which must be the given one if that is not empty. A server
// that leaves server/discover without an answer is offered the handshake, too: it may
// overlook what it does not know, or be a program that is still being downloaded.
func (c *Client) negotiate(ctx context.Context, only string) error {
	version := cmp.Or(only, mcp.LATEST_PROTOCOL_VERSION)
	c.setServer(Server{Protocol: version})
	probing, cancel := context.WithCancel(ctx)
	defer cancel()
	var modern Server
	found := make(chan error, 1)
	_ = c.start(func() {
		var err error
		modern, err = c.discover(probing, version)
		found <- err
	})
	var late <-chan time.Time
	if only == "" {
		late = time.After(c.opts.patience())
	}
	wait := time.Duration(0)
	select {
	case err := <-found:
		if err == nil {
			c.setServer(modern)
		}
		if only != "" || ctx.Err() != nil || c.Err() != nil || !isRefusal(err) {
			return err
		}
	case <-c.ctx.Done():
		return c.Err()
	case <-late:
		wait = time.Millisecond // for what has come before the answer to the handshake
	}
	c.setServer(Server{})
	err := c.initialize(ctx, mcp.LATEST_LEGACY_PROTOCOL_VERSION)
	if wait == 0 {
		return err
	}
	refused := isRefusal(err)
	if refused {
		wait = c.opts.patience()
	}
	select {
	case unknown := <-found:
		if c.both = unknown == nil; c.both && refused {
			c.setServer(modern)
			return nil
		}
	case <-time.After(wait):
	}
	return err
}

// isRefusal reports whether an error may be that of a server which does not speak
// the modern version: some answer the unknown request with an internal error, or
// with what is no message.
func isRefusal(err error) bool {
	_, answered := errors.AsType[*jsonrpc.Error](err)
	if e, ok := errors.AsType[*HTTPError](err); ok {
		switch e.Status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
			return false
		}
		return e.Status < 300 || e.Status >= 400 && e.Status <= http.StatusNotImplemented
	}
	return answered || errors.Is(err, errNoCommonVersion)
}

var errNoCommonVersion = errors.New("the server supports no protocol version that the client does")

// introduction is the result of server/discover or initialize.
type introduction struct {
	Versions     []string                   `json:"supportedVersions"`
	Version      string                     `json:"protocolVersion"`
	Capabilities json.RawMessage            `json:"capabilities"`
	Info         json.RawMessage            `json:"serverInfo"`
	Instructions string                     `json:"instructions"`
	Meta         map[string]json.RawMessage `json:"_meta"`
}

// introduce makes the first call of a connection.
func (c *Client) introduce(ctx context.Context, method mcp.MCPMethod, params any) (i introduction, err error) {
	result, err := c.Call(ctx, string(method), params)
	if err == nil {
		err = json.Unmarshal(result, &i)
	}
	return i, err
}

// discover asks a modern server what it is.
func (c *Client) discover(ctx context.Context, version string) (Server, error) {
	i, err := c.introduce(ctx, mcp.MethodServerDiscover, nil)
	if supports(err, version) { // although it has rejected it
		i, err = c.introduce(ctx, mcp.MethodServerDiscover, nil)
	}
	if err == nil && !slices.Contains(i.Versions, version) {
		err = errNoCommonVersion
	}
	if err != nil {
		return Server{}, fmt.Errorf("server/discover: %w", err)
	}
	return Server{version, i.Meta[mcp.MetaKeyServerInfo], i.Capabilities, i.Instructions}, nil
}

// supports reports whether an error rejects the version of a request and names
// version as one that the server supports.
func supports(err error, version string) bool {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || e.Code != mcp.UNSUPPORTED_PROTOCOL_VERSION {
		return false
	}
	var data struct{ Supported []string }
	raw, _ := e.Data.(json.RawMessage)
	return json.Unmarshal(raw, &data) == nil && slices.Contains(data.Supported, version)
}

// initialize does the handshake.
func (c *Client) initialize(ctx context.Context, version string) error {
	i, err := c.introduce(ctx, mcp.MethodInitialize, map[string]any{
		"protocolVersion": version, "capabilities": c.opts.capabilities(), "clientInfo": c.opts.info(),
	})
	if err == nil && (!slices.Contains(mcp.LegacyProtocolVersions(), i.Version) || c.opts.Protocol != "" && i.Version != version) {
		err = fmt.Errorf("%w: it answered with version %.100q", errNoCommonVersion, i.Version)
	}
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	c.setServer(Server{i.Version, i.Info, i.Capabilities, i.Instructions})
	err = c.Notify(ctx, "notifications/initialized", nil)
	if _, refused := errors.AsType[*HTTPError](err); err != nil && !refused { // some do not know it, and serve all the same
		return fmt.Errorf("notifications/initialized: %w", err)
	}
	if c.opts.LogLevel == "" {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, c.opts.patience())
	defer cancel()
	_, err = c.Call(asking, string(mcp.MethodSetLogLevel), map[string]any{"level": c.opts.LogLevel})
	if isRefusal(err) || asking.Err() != nil && ctx.Err() == nil { // it has no log
		return nil
	}
	return err
}

func (o *Options) info() mcp.Implementation {
	return mcp.Implementation{Name: o.Name, Version: o.Version}
}

// capabilities returns what the handlers make of the client.
func (o *Options) capabilities() map[string]any {
	declared := map[string]any{}
	for method, capability := range map[string]string{
		"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots",
	} {
		if o.Handlers[method] != nil {
			declared[capability] = struct{}{}
		}
	}
	if o.OpensURLs && declared["elicitation"] != nil {
		declared["elicitation"] = map[string]any{"form": struct{}{}, "url": struct{}{}}
	}
	return declared
}
