package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/kubernetes"
	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/tools/anthropic"
	"github.com/toolserver/toolserver/upstream"
)

// Profile is what the people of some groups have who use the server over HTTP: a workspace each, with the settings of the
// configuration and, where the profile has some, its own.
type Profile struct {
	Name             string            `yaml:"name" required:"true" min:"1"`
	Groups           []string          `yaml:"groups"`
	Shared           bool              `yaml:"shared"`
	WorkingDirectory string            `yaml:"working_directory" path:"true"`
	Roots            []string          `yaml:"roots" path:"true"`
	UIDRange         string            `yaml:"uid_range" format:"uid_range"`
	ToolSections     ToolSections      `yaml:"tools"`
	Network          sandbox.Network   `yaml:"network"`
	Sandbox          Driving           `yaml:"sandbox"`
	Limits           domain.Limits     `yaml:"limits"`
	Anthropic        anthropic.Options `yaml:"anthropic"`
}

// ProfileOf returns the first profile that a principal is in, nil if there is none.
func (c *Config) ProfileOf(p domain.Principal) *Profile {
	for i := range c.Profiles {
		if p.In(c.Profiles[i].Groups) {
			return &c.Profiles[i]
		}
	}
	return nil
}

// whose stands for the directory of a principal in the paths of a profile.
const whose = "{principal}"

// PrincipalDirectory returns the name of the directory of a principal, by its ID: no other principal has it, whatever they call
// themselves. It begins with what is readable of the subject.
func PrincipalDirectory(id string) string {
	_, subject, ok := strings.Cut(id, "#")
	if !ok {
		_, subject, _ = strings.Cut(id, ":")
	}
	readable := strings.Trim(strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(subject[:min(len(subject), 24)])), "-")
	sum := sha256.Sum256([]byte(id))
	unique := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
	return strings.TrimPrefix(readable+"-"+unique, "-")
}

// Workspace returns the configuration under which a principal of a profile works, by its ID, and makes the directory that is theirs.
func (l *Loaded) Workspace(p *Profile, id string) (*Loaded, error) {
	own := l.workspace(p, PrincipalDirectory(id))
	if at, name, ok := strings.Cut(p.WorkingDirectory, whose); ok {
		theirs := at + PrincipalDirectory(id)
		if i := strings.IndexByte(name, filepath.Separator); i >= 0 {
			name = name[:i]
		}
		var err error
		if own.User, err = userOf(l.stateDirectory(), p, id); err == nil {
			err = makePrivate(theirs+name, own.WorkingDirectory, own.User)
		}
		if err != nil {
			return nil, err
		}
	}
	return own, nil
}

// workspace returns the configuration with what a profile says instead, for the directory of a principal.
func (l *Loaded) workspace(p *Profile, directory string) *Loaded {
	own := *l
	own.within = fmt.Sprintf("profiles[%d].", slices.IndexFunc(l.Profiles, func(other Profile) bool { return other.Name == p.Name }))
	theirs := expanded(reflect.ValueOf(*p), directory).Interface().(Profile)
	overlay(reflect.ValueOf(&own.Config.WorkingDirectory).Elem(), reflect.ValueOf(theirs.WorkingDirectory))
	overlay(reflect.ValueOf(&own.Config.Roots).Elem(), reflect.ValueOf(theirs.Roots))
	overlay(reflect.ValueOf(&own.ToolSections).Elem(), reflect.ValueOf(theirs.ToolSections))
	if !reflect.ValueOf(theirs.Network).IsZero() { // whole: of less, nothing may be left
		own.Sandbox.Network = theirs.Network
	}
	overlay(reflect.ValueOf(&own.Sandbox.Driving).Elem(), reflect.ValueOf(theirs.Sandbox))
	overlay(reflect.ValueOf(&own.Config.Limits).Elem(), reflect.ValueOf(theirs.Limits))
	overlay(reflect.ValueOf(&own.Anthropic).Elem(), reflect.ValueOf(theirs.Anthropic))
	own.Tools = own.ToolSections.common()
	if at, _, ok := strings.Cut(p.WorkingDirectory, whose); ok {
		own.Apart = []string{filepath.Dir(at + "x")}
	}
	return &own
}

// Instances returns the servers that a workspace has for itself. They start in its directory, unless they have another.
func Instances(l *Loaded) map[string]upstream.Settings {
	all := map[string]upstream.Settings{}
	if len(l.Apart) == 0 {
		return all
	}
	rest, _ := filepath.Rel(l.Apart[0], l.WorkingDirectory)
	directory, _, _ := strings.Cut(rest, string(filepath.Separator))
	for name, s := range l.Servers {
		if s.Each() {
			s = expanded(reflect.ValueOf(s), directory).Interface().(upstream.Settings)
			s.Cwd = cmp.Or(s.Cwd, l.WorkingDirectory)
			all[name] = s
		}
	}
	return all
}

// expanded returns a copy of a value in which texts name the directory of a principal.
func expanded(v reflect.Value, directory string) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		c.SetString(strings.ReplaceAll(v.String(), whose, directory))
	case reflect.Pointer, reflect.Interface:
		switch {
		case v.IsNil():
		case v.Kind() == reflect.Pointer:
			c.Set(reflect.New(v.Type().Elem()))
			c.Elem().Set(expanded(v.Elem(), directory))
		default:
			c.Set(expanded(v.Elem(), directory))
		}
	case reflect.Slice:
		if !v.IsNil() {
			c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			c.Index(i).Set(expanded(v.Index(i), directory))
		}
	case reflect.Map:
		if !v.IsNil() {
			c.Set(reflect.MakeMap(v.Type()))
		}
		for key, value := range v.Seq2() {
			c.SetMapIndex(key, expanded(value, directory))
		}
	case reflect.Struct:
		c.Set(v)
		for f, to := range c.Fields() {
			if f.IsExported() {
				to.Set(expanded(to, directory))
			}
		}
	default:
		c.Set(v)
	}
	return c
}

// overlay sets what is set in another value, of sections and structs member by member. It changes nothing that others hold, too.
func overlay(v, other reflect.Value) {
	switch {
	case other.Kind() == reflect.Struct:
		for f, to := range v.Fields() {
			if f.IsExported() {
				overlay(to, other.FieldByIndex(f.Index))
			}
		}
	case other.Kind() == reflect.Map && !other.IsNil():
		all := reflect.MakeMap(v.Type())
		for key, value := range v.Seq2() {
			all.SetMapIndex(key, value)
		}
		for key, value := range other.Seq2() {
			before, value := all.MapIndex(key), value
			if before.IsValid() && value.Kind() == reflect.Interface && before.Elem().Type() == value.Elem().Type() && value.Elem().Kind() == reflect.Pointer {
				both := reflect.New(value.Elem().Type().Elem())
				both.Elem().Set(before.Elem().Elem())
				overlay(both.Elem(), value.Elem().Elem())
				value = both
			}
			all.SetMapIndex(key, value)
		}
		v.Set(all)
	case !other.IsZero():
		v.Set(other)
	}
}

// makePrivate makes a directory that only a user gets into, that of the server if the ID is zero, unless there is one, and one below it. The
// directory above must be there.
func makePrivate(dir, below string, user int) error {
	if info, err := os.Lstat(dir); user != 0 && err == nil && osfile.Of(info).UID == os.Geteuid() {
		_ = os.Remove(dir) // an empty one, that the server was killed over
	}
	err := os.Mkdir(dir, 0o700)
	if err == nil && user != 0 {
		err = os.Lchown(dir, user, user)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the workspace cannot be made: %w", err)
	}
	info, err := os.Lstat(dir)
	switch owner := cmp.Or(user, os.Geteuid()); {
	case err != nil:
		return fmt.Errorf("the workspace cannot be used: %w", err)
	case !info.IsDir() || info.Mode().Perm()&0o077 != 0 || osfile.Of(info).UID != owner:
		return fmt.Errorf("the workspace %s cannot be used: it has to be a directory of the user with the ID %d that nobody else gets into (mode 0700), "+
			"with all that is in it: chown -R %[2]d:%[2]d %[1]s", dir, owner)
	}
	made, err := pathguard.New(dir, pathguard.Rules{Allow: []string{dir}, Owner: user})
	if err == nil {
		_, err = made.MakeDir(below)
	}
	if err != nil {
		return fmt.Errorf("the workspace cannot be made: %w", err)
	}
	return nil
}

// InPods returns the profiles whose workspaces are pods, with how these are reached.
func InPods(l *Loaded) map[string]kubernetes.Settings {
	all := map[string]kubernetes.Settings{}
	for i := range l.Profiles {
		if own := l.workspace(&l.Profiles[i], "x"); own.Sandbox.InPods() {
			all[l.Profiles[i].Name] = own.Sandbox.Kubernetes
		}
	}
	return all
}

// checkProfiles reports profiles that do not keep people apart.
func (l *Loaded) checkProfiles() (all []error) {
	mistake := func(i int, key, format string, args ...any) {
		all = append(all, l.Mistake(fmt.Sprintf("profiles[%d]%s", i, key), format, args...))
	}
	if len(l.Auth.Issuers) > 0 && len(l.Profiles) == 0 {
		all = append(all, l.Mistake("auth.issuers", "people who sign in need a workspace each: add profiles: [{name: everybody, working_directory: /srv/work/%s}], "+
			"or profiles: [{name: everybody, shared: true}] if they are to share one", whose))
	}
	if l.Sandbox.InPods() && len(l.Profiles) == 0 {
		all = append(all, l.Mistake("sandbox.driver", "kubernetes is for workspaces of profiles, which people have over HTTP: add profiles: [{name: everybody}]"))
	}
	names := map[string]bool{}
	for i := range l.Profiles {
		p := &l.Profiles[i]
		if own := l.workspace(p, "x"); own.Sandbox.InPods() {
			key := "sandbox.kubernetes."
			if p.Sandbox != (Driving{}) {
				key = fmt.Sprintf("profiles[%d].%s", i, key)
			}
			wrong, problem := own.Sandbox.Kubernetes.Check()
			switch {
			case names[p.Name]:
				mistake(i, ".name", "is that of another profile, too")
			case p.Shared || p.WorkingDirectory != "" || p.Roots != nil || p.UIDRange != "" || !reflect.ValueOf(p.Network).IsZero():
				mistake(i, "", "its workspaces are pods (sandbox.driver), and shared, working_directory, roots, uid_range and network are for those on "+
					"this machine: the configuration in the pod template says what holds there")
			case problem != "":
				all = append(all, l.Mistake(key+wrong, "%s", problem))
			}
			names[p.Name] = true
			continue
		}
		before, _, own := strings.Cut(p.WorkingDirectory, whose)
		info, err := os.Stat(filepath.Dir(before + "x"))
		switch {
		case names[p.Name]:
			mistake(i, ".name", "is that of another profile, too")
		case p.Shared && own, !p.Shared && !own:
			mistake(i, "", "set either shared: true, and all of the profile use one workspace, or a working_directory with %s in it", whose)
		case p.Shared && !reflect.DeepEqual(*p, Profile{Name: p.Name, Groups: p.Groups, Shared: true}):
			mistake(i, "", "with shared: true its people work as the configuration says, and it has no settings of its own; "+
				"to keep a tool from some of them, set the groups of the tool")
		case own && (err != nil || !info.IsDir()):
			mistake(i, ".working_directory", "the directory %s has to be there; that of each principal is made in it", filepath.Dir(before+"x"))
		}
		if users, err := parseUIDs(p.UIDRange); err == nil {
			known := knownUser(users)
			switch err := process.CheckUsers(); {
			case !own:
				mistake(i, ".uid_range", "is for workspaces of their own: set working_directory, with %s in it", whose)
			case err != nil:
				mistake(i, ".uid_range", "cannot be used: %v", err)
			case known != "":
				mistake(i, ".uid_range", "has the ID of %s; take IDs that nothing else on this machine uses", known)
			case l.Sandbox.Enforcement == sandbox.EnforceParseOnly:
				mistake(i, ".uid_range", "takes commands that the kernel confines, and sandbox.enforcement is parse_only")
			}
		}
		names[p.Name] = true
	}
	if len(all) > 0 {
		return all
	}
	for i := range l.Profiles {
		for j := i; j < len(l.Profiles); j++ {
			one, other := l.workspace(&l.Profiles[i], "a"), l.workspace(&l.Profiles[j], "b")
			if l.Profiles[i].Shared || l.Profiles[j].Shared || one.Sandbox.InPods() || other.Sandbox.InPods() {
				continue
			}
			a, b := one.Policy().Writable(), other.Policy().Writable()
			for _, path := range a {
				if at := slices.IndexFunc(b, func(other string) bool { return within(path, []string{other}) || within(other, []string{path}) }); at >= 0 {
					mistake(i, "", "two people could write into each other's files: one of %s may write %s, another one of %s %s; "+
						"write %s in paths that tools write, or shared: true",
						l.Profiles[i].Name, path, l.Profiles[j].Name, b[at], whose)
					break
				}
			}
		}
	}
	return all
}
