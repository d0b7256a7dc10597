package tools

import (
	"errors"
	"testing"

	"toolserver/domain"
)

func TestLasting(t *testing.T) {
	var l Lasting
	made := 0
	get := func(family string, from any, err error) (int, error) {
		tools, err := l.tools(family, from, func() ([]domain.Tool, error) {
			made++
			return make([]domain.Tool, made), err
		})
		return len(tools), err
	}
	type options struct{ list []string }
	for _, step := range []struct {
		family string
		from   options
		err    error
		want   int
	}{
		{"a", options{[]string{"x"}}, nil, 1},
		{"a", options{[]string{"x"}}, nil, 1},
		{"b", options{[]string{"x"}}, nil, 2},
		{"a", options{[]string{"y"}}, errors.New("no"), 0},
		{"a", options{[]string{"x"}}, nil, 1},
		{"a", options{[]string{"y"}}, nil, 4},
		{"a", options{[]string{"x"}}, nil, 5},
	} {
		if got, err := get(step.family, step.from, step.err); got != step.want || (err != nil) != (step.err != nil) {
			t.Errorf("%+v: %d, %v", step, got, err)
		}
	}
	if tools, err := (*Lasting)(nil).tools("a", nil, func() ([]domain.Tool, error) { return make([]domain.Tool, 9), nil }); err != nil || len(tools) != 9 {
		t.Errorf("%d, %v", len(tools), err)
	}
}
