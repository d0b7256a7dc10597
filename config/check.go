package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/toolserver/toolserver/approval"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/identity"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/netguard"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/server"
	"github.com/toolserver/toolserver/tools/files"
)

// check reports what the types of the configuration do not say.
func (l *Loaded) check() error {
	notations := l.notations()
	var all []error
	for _, f := range l.source.Formatted {
		check := notations[f.Format].check
		if check == nil {
			continue
		}
		err := check(f.Text)
		if f.Format == "command" && err == nil && command.Words(f.Text)[0] == "*" && !strings.Contains(f.Path, ".allowed_commands[") {
			err = errors.New("* for any program is for allowed_commands; write allowed_commands: [] to deny all")
		}
		if e, _ := pathguard.ParseEntry(f.Text); f.Format == "path" && err == nil && e.Glob != "" &&
			l.Sandbox.Enforcement == sandbox.EnforceRequired && strings.HasPrefix(f.Path, "tools."+files.ReadFile+".allowed_paths[") {
			err = fmt.Errorf("%q has wildcards, and sandbox.enforcement: required holds commands to files and directories; "+
				"write the directory %s here, and what nobody may read of it in denied_paths", f.Text, cmp.Or(e.Path, "."))
		}
		if err != nil {
			all = append(all, l.Mistake(f.Path, "%s", err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Sandbox.Env)) {
		if err := sandbox.CheckVariable(name, l.Sandbox.Env[name]); err != nil {
			all = append(all, l.Mistake("sandbox.env."+name, "%s", err))
		}
	}
	for i, dir := range realPaths(append([]string{l.WorkingDirectory}, l.Roots...)) {
		if l.StateDirectory != "" && within(dir, realPaths([]string{l.StateDirectory})) {
			what := "the working directory"
			if i > 0 {
				what = "the root"
			}
			all = append(all, l.Mistake("state_directory", "%s has %s %s in it, and no tool gets into the state directory; write one for nothing else, such as "+
				"~/.local/state/toolserver, or leave it out", l.StateDirectory, what, dir))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Servers)) {
		s := l.Servers[name]
		for _, m := range s.Check(name) {
			all = append(all, l.Mistake(strings.TrimSuffix("mcp_servers."+name+"."+m.Key, "."), "%s", m.Problem))
		}
	}
	for _, m := range l.Web.Search.Check() {
		all = append(all, l.Mistake(m.Key, "%s", m.Problem))
	}
	all = append(all, l.checkProfiles()...)
	if err := Unsafe(l, l.Server.HTTP); err != nil {
		all = append(all, err)
	}
	if err := checkStore(l); err != nil {
		all = append(all, err)
	}
	for _, p := range l.Auth.Check(l.Resource()) {
		all = append(all, l.Mistake("auth."+p.Key, "%s", p.Text))
	}
	if (l.Server.TLS.Cert == "") != (l.Server.TLS.Key == "") {
		all = append(all, l.Mistake("server.tls", "set both cert and key; one is missing"))
	}
	if tls := l.Server.TLS; tls.ClientCA != "" && tls.Cert == "" || tls.ClientCA == "" && tls.ClientAuth == "require" {
		all = append(all, l.Mistake("server.tls", "clients can have certificates only where there are cert, key and client_ca"))
	}
	if key, problem := l.Console.problem(&l.Auth); problem != "" {
		all = append(all, l.Mistake("console."+key, "%s", problem))
	}
	_, err := l.Tokens()
	if e, ok := errors.AsType[*server.TokenError](err); ok {
		all = append(all, l.Mistake(fmt.Sprintf("server.tokens[%d].%s", e.Index, e.Field), "%s", e.Problem))
	}
	return errors.Join(all...)
}

// problem says what is wrong with where the console is, and who may use it.
func (c *Console) problem(auth *identity.Settings) (key, text string) {
	signsIn := slices.ContainsFunc(auth.Issuers, func(i identity.Issuer) bool { return i.Browser.ClientID != "" })
	switch {
	case c.PublicURL == "" && len(c.Groups) > 0:
		return "groups", "an issuer says who is in them, and people come back from it to console.public_url: set that, too"
	case c.PublicURL == "" && c.HTTP != "" && !server.IsLoopback(c.HTTP):
		return "http", "it is no address of loopback: set console.public_url, at which a proxy has the certificate, and console.groups"
	case c.PublicURL == "":
	case len(c.Groups) == 0:
		return "groups", "name those who may use the console, or everybody could whom the issuer knows"
	case !signsIn:
		return "public_url", "people sign in at an issuer: set sign_in.client_id of one in auth.issuers"
	}
	return "", ""
}

func checkReachable(text string) error {
	if text == "*" {
		return errors.New("for any host, write network: all")
	}
	_, err := netguard.ParseHost(text)
	return err
}

// checkGlob checks a pattern for names of tools.
func checkGlob(text string) error {
	if _, err := path.Match(text, ""); err != nil || text == "" {
		return fmt.Errorf("%q is not a pattern for names; * stands for any characters, and \\ escapes [", text)
	}
	return nil
}

func checkHeader(text string) error {
	if !httpguts.ValidHeaderFieldValue(text) || strings.ContainsFunc(text, func(r rune) bool { return r > '~' }) {
		return errors.New("has characters that cannot be sent in a header; use printable ASCII")
	}
	return nil
}

// known reports a name that is none of the known ones.
func known(name, problem, otherwise string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("%s %q; %s", problem, name, hint(name, names, otherwise))
}

// hint says which of the known words was probably meant, or else what otherwise says.
func hint(word string, known []string, otherwise string) string {
	if near, ok := nearest.Word(word, known); ok {
		return "did you mean " + near + "?"
	}
	return otherwise
}

// listed lists the known words.
func listed(known []string) string { return "known: " + cmp.Or(strings.Join(known, ", "), "none") }

func (l *Loaded) checkLevel(name string) error {
	if _, ok := (domain.Access{Levels: l.Compliance.Levels}).Known(name); ok || name == "" {
		return nil
	}
	return fmt.Errorf("there is no compliance level %q; %s", name, listed(slices.Sorted(maps.Keys(l.Compliance.Levels))))
}

// Names are the names of all items that sources offer or know of.
type Names struct {
	Tools, Resources, Prompts []string
	Open                      bool // sources may offer more later
}

// CheckNames reports settings of tools, resources and prompts that do not exist.
// Where a source may offer the item later, that is a warning: a tool of another
// server is called server__tool.
func (l *Loaded) CheckNames(names Names) (warnings []string, err error) {
	var all []error
	mayCome := func(name string) bool { return names.Open || strings.Contains(name, "__") }
	check := func(at, kind, name string, known []string) {
		if slices.Contains(known, name) {
			return
		}
		problem := l.Mistake(at+kind+"s."+name, "there is no %s %q; %s", kind, name, hint(name, known, listed(known)))
		if mayCome(name) {
			warnings = append(warnings, problem.Error()+"; the settings apply when it becomes available")
		} else {
			all = append(all, problem)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Tools)) {
		check("", "tool", name, names.Tools)
		other, ok := l.ToolSections[name].(*otherTool)
		if !ok || !mayCome(name) && !slices.Contains(names.Tools, name) {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(other.Unknown)) {
			all = append(all, l.Mistake("tools."+name+"."+key, "the tool %s has no such setting", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Resources)) {
		check("", "resource", name, names.Resources)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Prompts)) {
		check("", "prompt", name, names.Prompts)
	}
	for i := range l.Profiles {
		for _, name := range slices.Sorted(maps.Keys(l.Profiles[i].ToolSections.common())) {
			check(fmt.Sprintf("profiles[%d].", i), "tool", name, names.Tools)
		}
	}
	for _, pattern := range l.Approvals.Second {
		if !(approval.Settings{Second: []string{pattern}}).Names(names.Tools...) {
			warnings = append(warnings, l.Mistake("approvals.second", "%q is the name of no tool", pattern).Error())
		}
	}
	return warnings, errors.Join(all...)
}
