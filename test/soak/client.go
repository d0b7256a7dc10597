//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// client is somebody who calls tools, one after the other, and knows what must
// come of it.
type client struct {
	soak *soak
	name string
	rng  *rand.Rand
	link link
	ctx  context.Context
	folder

	lastSent time.Time
}

// ask sends a request.
func (c *client) ask(r *request) (*answer, error) {
	c.lastSent = time.Now()
	r.escape = !r.progress && c.rng.IntN(4) == 0 // the token must come back as it is
	a, err := c.link.ask(c.ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%w; the request was %s", err, r)
	}
	return a, nil
}

// toolResult is what tools/call returns.
type toolResult struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
	Meta              json.RawMessage `json:"_meta"`
}

// text returns the text of the result, which is all its content.
func (r *toolResult) text() string {
	if len(r.Content) != 1 || r.Content[0].Type != "text" {
		return fmt.Sprintf("%+v", r.Content)
	}
	return r.Content[0].Text
}

// call calls a tool that must not fail.
func (c *client) call(tool string, args map[string]any) (*toolResult, error) {
	res, a, err := c.result(callOf(tool, args))
	if err == nil && res.IsError {
		err = fmt.Errorf("%s of %v: %s", tool, args, a)
	}
	return res, err
}

// result sends a call whose answer must be a result, be it of an error.
func (c *client) result(r *request) (*toolResult, *answer, error) {
	a, err := c.ask(r)
	if err != nil {
		return nil, nil, err
	}
	if a.Error != nil {
		return nil, nil, fmt.Errorf("%s: %s", r, a)
	}
	res := &toolResult{}
	if err := json.Unmarshal(a.Result, res); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", a, err)
	}
	return res, a, nil
}

// fails sends a request whose answer must be an error.
func (c *client) fails(r *request, code int) error {
	a, err := c.ask(r)
	if err != nil {
		return err
	}
	if a.Error == nil || a.Error.Code != code {
		return fmt.Errorf("%s: got %s instead of error %d", r, a, code)
	}
	return nil
}
