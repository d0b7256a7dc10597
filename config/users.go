package config

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/identity"
	"github.com/toolserver/toolserver/sandbox"
)

// As returns the configuration as it holds over HTTP for somebody in groups, who is its user: the name of a token, with the groups of
// that, too, or the ID of a principal.
func As(l *Loaded, id string, groups []string) (*Loaded, error) {
	id = strings.TrimPrefix(id, SourceToken+":")
	p := domain.Principal{ID: id, Groups: groups}
	u := User{groups, l.Principal(id).ComplianceLevel}
	for _, t := range l.Server.Tokens {
		if t.Name == id {
			p.ID, p.Groups = domain.PrincipalID(SourceToken, id), slices.Concat(groups, t.Groups, l.Users[id].Groups)
			u = User{p.Groups, cmp.Or(t.ComplianceLevel, u.ComplianceLevel)}
		}
	}
	issuer, _, signsIn := strings.Cut(id, "#")
	switch {
	case p.ID != id || strings.HasPrefix(id, SourceCertificate+":"):
	case !signsIn:
		return nil, fmt.Errorf("no token is named %s; somebody who signs in is ISSUER#SUBJECT, and a certificate is %s:NAME", id, SourceCertificate)
	case !slices.ContainsFunc(l.Auth.Issuers, func(i identity.Issuer) bool { return i.Issuer == issuer }):
		return nil, fmt.Errorf("%s is none of auth.issuers", issuer)
	}
	one := *l
	if of := l.ProfileOf(p); of == nil && len(l.Profiles) > 0 {
		return nil, fmt.Errorf("%s is in no profile, with the groups %q: all calls are refused", id, p.Groups)
	} else if of != nil && !of.Shared {
		one = *l.workspace(of, PrincipalDirectory(p.ID))
	}
	one.Server.User, one.Users = id, maps.Clone(l.Users)
	if one.Users == nil {
		one.Users = map[string]User{}
	}
	one.Users[id] = u
	return &one, nil
}

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
	users, err := parseUIDs(p.UIDRange)
	if err != nil {
		return 0, err
	}
	owners := map[int]string{}
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

// parseUIDs returns the first and the last of a range of user IDs, such as 100000-165535.
func parseUIDs(text string) (users [2]int, err error) {
	from, to, _ := strings.Cut(text, "-")
	first, err := strconv.ParseUint(from, 10, 31)
	last, err2 := strconv.ParseUint(to, 10, 31)
	if err != nil || err2 != nil || first < 1 || last < first {
		return users, fmt.Errorf("%q is no range of user IDs; write one such as 100000-165535, which nobody else has on this machine", text)
	}
	return [2]int{int(first), int(last)}, nil
}

// knownUser returns a user or group of this machine whose ID is in a range.
func knownUser(users [2]int) string {
	for _, file := range []string{"/etc/passwd", "/etc/group"} {
		all, _ := os.ReadFile(file)
		for line := range strings.Lines(string(all)) {
			fields := strings.Split(line, ":")
			if len(fields) < 3 {
				continue
			}
			if id, err := strconv.Atoi(fields[2]); err == nil && users[0] <= id && id <= users[1] {
				return fields[0]
			}
		}
	}
	return ""
}
