package approval

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/toolserver/toolserver/store"
)

// shared are values in the store of the replicas, which nobody else can read.
type shared struct{ store *store.Store }

// Where the values are, and for how long after the last was added: longer than any request waits.
const (
	sharedSet  = "approvals"
	sharedTime = 30 * 24 * time.Hour
)

func (s shared) names(ctx context.Context) ([]string, error) {
	values, err := s.store.Fields(ctx, "", sharedSet)
	return slices.Collect(maps.Keys(values)), err
}

func (s shared) get(ctx context.Context, name string) ([]byte, error) {
	return s.store.Field(ctx, "", sharedSet, name)
}

func (s shared) add(ctx context.Context, name string, value []byte) (first bool, err error) {
	if err := fits(value); err != nil {
		return false, err
	}
	return s.store.AddField(ctx, "", sharedSet, name, value, sharedTime)
}

func (s shared) remove(ctx context.Context, id string) error {
	return s.store.RemoveFields(ctx, "", sharedSet, id, id+decided, id+used)
}
