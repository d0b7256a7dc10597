package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestUIDRanges(t *testing.T) {
	for text, good := range map[string]bool{
		"": true, "100000-165535": true, "1-1": true, "0-9": false, "5": false, "9-5": false, "-5": false, "1-": false, "1-2-3": false, "a-b": false,
		"1-4294967295": false, "1 - 2": false, "+1-5": false,
	} {
		if err := optional(parseUIDs)(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestUserOf gives IDs to many at once, each of their own and for good, also beside another range.
func TestUserOf(t *testing.T) {
	directory, eng := filepath.Join(t.TempDir(), "state"), &Profile{Name: "eng", UIDRange: "1000-1019"}
	var mu sync.Mutex
	var all sync.WaitGroup
	first, owners := map[string]int{}, map[int]string{}
	for i := range 20 {
		all.Go(func() {
			id := fmt.Sprint("token:", i)
			user, err := userOf(directory, eng, id)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || owners[user] != "" || user < 1000 || user > 1019 {
				t.Errorf("%s has %d, as has %q: %v", id, user, owners[user], err)
			}
			first[id], owners[user] = user, id
		})
	}
	all.Wait()
	for id, user := range first {
		if again, err := userOf(directory, eng, id); again != user || err != nil {
			t.Errorf("%s had %d and has %d: %v", id, user, again, err)
		}
	}
	if _, err := userOf(directory, eng, "token:late"); err == nil || !strings.Contains(err.Error(), "none left") {
		t.Errorf("one too many: %v", err)
	}
	if user, err := userOf(directory, &Profile{UIDRange: "1010-1030"}, "token:late"); user != 1020 || err != nil {
		t.Errorf("in a range that overlaps: %d, %v", user, err)
	}
	if user, err := userOf(directory, &Profile{}, "token:1"); user != 0 || err != nil {
		t.Errorf("without a range: %d, %v", user, err)
	}
}
