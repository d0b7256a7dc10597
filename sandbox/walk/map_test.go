package walk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/toolserver/toolserver/sandbox/walk"
)

func manyFiles(t *testing.T) (root string, files []string) {
	t.Helper()
	root = tree(t)
	for d := range 40 {
		dir := filepath.Join(root, fmt.Sprintf("d%02d", d))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for f := range d * 2 {
			name := fmt.Sprintf("f%02d", f)
			if err := os.WriteFile(filepath.Join(dir, name), make([]byte, f), 0o644); err != nil {
				t.Fatal(err)
			}
			files = append(files, fmt.Sprintf("d%02d/%s %d", d, name, f))
		}
	}
	return root, files
}

func size(e *walk.Entry) (string, bool) {
	f, err := e.Open()
	if err != nil {
		return err.Error(), true
	}
	defer f.Close()
	return fmt.Sprintf("%s %d", e.Rel(), f.Info().Size), true
}

func regular(e *walk.Entry) (bool, error) { return e.IsRegular(), nil }

func TestMapKeepsTheOrder(t *testing.T) {
	root, want := manyFiles(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, workers := range []int{1, 3, 8} {
		runtime.GOMAXPROCS(workers)
		var got []string
		stats, err := walk.Map(context.Background(), open(t, root), root, walk.Options{}, regular,
			func() func(*walk.Entry) (string, bool) { return size },
			func(s string) error { got = append(got, s); return nil })
		if err != nil || !slices.Equal(got, want) || stats.Entries != len(want)+40 {
			t.Errorf("%d workers: %d results, want %d; %v", workers, len(got), len(want), err)
		}
	}
}

func TestMapEnds(t *testing.T) {
	root, want := manyFiles(t)
	boom := errors.New("boom")
	for _, c := range []struct{ emit, pick, want error }{
		{emit: walk.SkipAll}, {emit: boom, want: boom}, {pick: walk.SkipAll}, {pick: boom, want: boom},
	} {
		emitted := 0
		_, err := walk.Map(context.Background(), open(t, root), root, walk.Options{},
			func(e *walk.Entry) (bool, error) {
				if e.IsRegular() {
					return true, c.pick
				}
				return false, nil
			},
			func() func(*walk.Entry) (string, bool) { return size },
			func(string) error { emitted++; return c.emit })
		if err != c.want || emitted >= len(want) || c.emit != nil && emitted != 1 {
			t.Errorf("%+v: %d emitted, %v", c, emitted, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := walk.Map(ctx, open(t, root), root, walk.Options{}, regular,
		func() func(*walk.Entry) (string, bool) { return size }, func(string) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestMapPassesPanicsOn(t *testing.T) {
	root, _ := manyFiles(t)
	defer func() {
		if recover() == nil {
			t.Error("the panic of a worker was lost")
		}
	}()
	walk.Map(context.Background(), open(t, root), root, walk.Options{}, regular,
		func() func(*walk.Entry) (int, bool) { return func(*walk.Entry) (int, bool) { panic("boom") } },
		func(int) error { return nil })
}
