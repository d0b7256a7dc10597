package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/sandbox"
)

// userOf returns by whose ID the commands of a principal run. It is theirs for good: the state directory has it.
func userOf(directory string, p *Profile, id string) (int, error) {
	if p.UIDRange == "" {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), userWait)
	defer cancel()
	state := sandbox.NewState(directory, "users")
	unlock, err := state.Lock(ctx, "principals")
	if err != nil {
		return 0, err
	}
	defer unlock()
	users, owners := parseUIDs(p.UIDRange), map[int]string{}
	data, err := state.Read("principals")
	if err == nil {
		err = json.Unmarshal(data, &owners)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for user, owner := range owners {
		if owner == id && users[0] <= user && user <= users[1] {
			return user, nil
		}
	}
	free := users[0]
	for owners[free] != "" {
		free++
	}
	if free > users[1] {
		return 0, fmt.Errorf("the uid_range of the profile %s, %s, has none left", p.Name, p.UIDRange)
	}
	owners[free] = id
	data, err = json.Marshal(owners)
	return free, errors.Join(err, state.Write("principals", data))
}

// userWait bounds how long a workspace waits for others that are made.
const userWait = 10 * time.Second

// parseUIDs returns the first and the last of a range of user IDs, such as 100000-165535, and nil for another text.
func parseUIDs(text string) []int {
	from, to, _ := strings.Cut(text, "-")
	first, err := strconv.ParseInt(from, 10, 32)
	last, err2 := strconv.ParseInt(to, 10, 32)
	if err != nil || err2 != nil || first < 1 || last < first {
		return nil
	}
	return []int{int(first), int(last)}
}

func checkUIDs(text string) error {
	if text != "" && parseUIDs(text) == nil {
		return fmt.Errorf("%q is no range of user IDs; write one such as 100000-165535, which nobody else has on this machine", text)
	}
	return nil
}
