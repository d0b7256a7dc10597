package domain

import (
	"fmt"
	"slices"
	"testing"
)

// TestPages checks that pages come to the whole, and that none is empty.
func TestPages(t *testing.T) {
	var all []string
	for i := range 10 {
		all = append(all, fmt.Sprintf("item%02d", i))
	}
	self := func(s string) string { return s }
	for size := range 12 {
		var got []string
		for cursor := ""; ; {
			page, next, err := pageOf(all, self, cursor, size)
			if err != nil || len(page) == 0 {
				t.Fatalf("size %d: %v, page %q", size, err, page)
			}
			got = append(got, page...)
			if cursor = next; cursor == "" {
				break
			}
		}
		if !slices.Equal(got, all) {
			t.Errorf("size %d: %q", size, got)
		}
	}
}

// FuzzCursor checks that no cursor does harm: what it leads to is a part of the
// list, in order.
func FuzzCursor(f *testing.F) {
	for _, seed := range []string{"", "aXRlbTAz", "====", "\xff", "aXRlbTk5OTk5"} {
		f.Add(seed, 3)
	}
	all := []string{"a", "b", "item03", "zebra"}
	f.Fuzz(func(t *testing.T, cursor string, size int) {
		page, _, err := pageOf(all, func(s string) string { return s }, cursor, size)
		if err != nil {
			if CodeOf(err) != CodeInvalidParams {
				t.Errorf("%q: %v", cursor, err)
			}
			return
		}
		if i := len(all) - len(page); size <= 0 && !slices.Equal(page, all[i:]) || !slices.IsSorted(page) {
			t.Errorf("%q, %d: %q", cursor, size, page)
		}
	})
}
