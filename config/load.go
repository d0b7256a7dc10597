package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/config/yamlconf"
	"github.com/toolserver/toolserver/domain/structschema"
	"github.com/toolserver/toolserver/sandbox"
)

// Loaded is a configuration and where it comes from.
type Loaded struct {
	Config
	Origin
	Secrets []string // what must not be shown
	Assumed bool     // nobody has said what the working directory is: it is that of the process

	source       yamlconf.Source
	size         int      // of the file
	whole        bool     // the file ends with a newline
	placeholders []string // of the command line, which are unset
	within       string   // of a workspace: where its profile is in the file
}

// Overrides are what the command line says over the file.
type Overrides struct {
	File        string   // to read instead of looking for one
	Directories []string // the first is the working directory, all are roots
}

// errNoDirectory is for users whose client starts servers anywhere.
var errNoDirectory = errors.New("no working directory: the server was started in /, so give a directory as an argument " +
	"(toolserver serve --stdio /path/to/project), or set working_directory in the configuration")

// Load reads the configuration: the file that a person has named on the command line
// or in $TOOLSERVER_CONFIG; or else the first that may be obeyed of toolserver.yaml
// here, and toolserver/config.yaml in the user's configuration directory; or else
// the defaults. A file that others may have written, as everybody can who fills the
// directory and every command that may write there, is obeyed only if a person has
// trusted its content. The error has a line for each mistake, with its place in
// the file.
func Load(o Overrides) (*Loaded, error) {
	o, placeholders, err := o.given()
	if err != nil {
		return nil, err
	}
	origin, err := named(o.File)
	if err != nil {
		return nil, err
	}
	var l *Loaded
	if origin.File != "" {
		l, err = load(origin, o.Directories, nil)
	} else {
		l, err = find(o.Directories)
	}
	if err != nil {
		return nil, err
	}
	l.placeholders = placeholders
	return l, nil
}

// Again reads the same file once more. A file that looks as if its writer has
// not finished is rejected, since what is missing would open what the
// configuration has closed: one that is empty, or that is shorter than before
// and breaks off within its last line, as a full disk leaves it. So is one that
// nobody has named and whose new content nobody has trusted, with [*Unused].
func (l *Loaded) Again(directories []string) (*Loaded, error) {
	o, _, err := Overrides{Directories: directories}.given()
	if err != nil {
		return nil, err
	}
	again, err := load(l.Origin, o.Directories, l)
	if err != nil {
		return nil, err
	}
	again.placeholders = l.placeholders
	return again, nil
}

// load reads the file of an origin, if it has one, and settles everything.
func load(origin Origin, directories []string, before *Loaded) (*Loaded, error) {
	origin.named = cmp.Or(origin.named, origin.File)
	l := &Loaded{Config: Default(), Origin: origin}
	if l.File != "" {
		if err := l.read(directories, before); err != nil {
			return nil, err
		}
	}
	if err := l.complete(directories); err != nil {
		return nil, err
	}
	if l.File != "" && filepath.VolumeName(l.File) == "" {
		var err error
		if l.File, err = l.pinned(l.File); err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
	}
	return l, nil
}

// complete settles what follows from the settings, and checks them.
func (l *Loaded) complete(directories []string) error {
	l.Tools = l.ToolSections.common()
	for _, s := range l.Servers {
		for _, secret := range s.Secrets() {
			l.source.AddSecret(secret)
		}
	}
	if proxy, err := url.Parse(l.Web.Proxy); err == nil && proxy.User != nil { // its password is one by itself, too
		password, _ := proxy.User.Password()
		l.source.AddSecret(password)
	}
	l.Secrets = l.source.Secrets()
	if err := l.credentials(); err != nil {
		return err
	}
	if err := l.directories(directories); err != nil {
		return err
	}
	if l.Source == OriginUser {
		if err := l.settled(l.Policy().Writable()); err != nil {
			return err
		}
	}
	return l.check()
}

// read decodes the file over the defaults.
func (l *Loaded) read(directories []string, before *Loaded) error {
	text, err := l.content(directories)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	switch {
	case before == nil:
	case empty(text):
		return fmt.Errorf("%s: the file is empty, which would remove every restriction; "+
			"write the policy, or restart the server to use the defaults", l.File)
	case len(text) < before.size && before.whole && !endsLine(text):
		return fmt.Errorf("%s: the last line does not end with a newline, and the file is shorter than before: it looks half-written; "+
			"save all of it, with a newline at its end", l.File)
	}
	l.size, l.whole = len(text), endsLine(text)
	return yamlconf.Decode(l.named, text, &l.Config, &l.source)
}

func endsLine(text []byte) bool { return bytes.HasSuffix(text, []byte("\n")) }

// empty reports whether a file has nothing but blanks and comments, as one has
// that is about to be written or that a full disk has left.
func empty(data []byte) bool {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && string(line) != "---" && string(line) != "..." {
			return false
		}
	}
	return true
}

// credential is a key of a service that the environment may have, under the name that the
// service uses.
type credential struct {
	variable, path string
	key            *string
}

// keys returns the keys of all services that have one.
func (c *Config) keys() []credential {
	all := []credential{
		{"TOOLSERVER_ANTHROPIC_API_KEY", "anthropic.api_key", &c.Anthropic.APIKey},
		{"ANTHROPIC_ADMIN_API_KEY", "anthropic.admin_api_key", &c.Anthropic.AdminAPIKey},
		{"GOOGLE_CLIENT_SECRET", "google.client_secret", &c.Google.ClientSecret},
	}
	for _, k := range c.Web.Search.Keys() {
		all = append(all, credential{k.Variable, k.Path, k.Value})
	}
	return all
}

// clientKey names the environment variable of a key that clients such as Claude Code have for
// themselves and pass on. It is a secret, but not given to this server to spend.
const clientKey = "ANTHROPIC_API_KEY"

// googleClientID names the environment variable of what is no secret.
const googleClientID = "GOOGLE_CLIENT_ID"

// credentials takes keys that the file does not name from the environment. They are
// secrets, wherever they come from, and whether or not they are used.
func (l *Loaded) credentials() error {
	if g := &l.Google; g.Credentials != "" {
		if err := g.ReadCredentials(l.Server.PublicURL != ""); err != nil {
			return l.source.Errorf("google.credentials_file", "%v", err)
		}
	}
	for _, c := range l.keys() {
		key, ambient := c.key, ambient(c.variable)
		if *key = strings.TrimSpace(*key); *key == "" && ambient != "" {
			*key = ambient
			l.source.Refer(c.path, "${"+c.variable+"}")
		}
		for _, key := range []string{*key, ambient} {
			if key != "" {
				l.Secrets = append(l.Secrets, key)
			}
		}
	}
	if key := ambient(clientKey); key != "" {
		l.Secrets = append(l.Secrets, key)
	}
	if l.Google.ClientID = strings.TrimSpace(l.Google.ClientID); l.Google.ClientID == "" {
		l.Google.ClientID = ambient(googleClientID)
	}
	return nil
}

// directories settles the working directory and the roots, which must exist.
func (l *Loaded) directories(given []string) error {
	for _, path := range given {
		if err := checkGiven(path); err != nil {
			return err
		}
	}
	if len(given) > 0 {
		l.WorkingDirectory = given[0]
		l.Roots = append(l.Roots[:len(l.Roots):len(l.Roots)], given[1:]...)
	}
	if l.WorkingDirectory == "" {
		dir, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("no working directory: %w", err)
		}
		if dir == "/" {
			return errNoDirectory
		}
		l.WorkingDirectory, l.Assumed = dir, true
	}
	var err error
	if l.WorkingDirectory, err = l.directory("working_directory", l.WorkingDirectory); err != nil {
		return err
	}
	for i, root := range l.Roots {
		if l.Roots[i], err = l.directory(fmt.Sprintf("roots[%d]", i), root); err != nil {
			return err
		}
	}
	return nil
}

// checkGiven explains why a directory of the command line does not exist, to those whose
// client has neither a shell nor a directory of its own.
func checkGiven(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if filepath.IsAbs(path) {
		return fmt.Errorf("the directory %s does not exist", path)
	}
	if rest, ok := strings.CutPrefix(filepath.ToSlash(path), "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			home = "/home/NAME"
		}
		return fmt.Errorf("the directory %s does not exist: only shells replace ~; write %s", path, filepath.Join(home, rest))
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return fmt.Errorf("the directory %s does not exist: it starts where the server is started, which a client chooses; write an absolute path", abs)
}

// Home returns the directory that is served if that is the home directory or holds it, or nothing.
func (l *Loaded) Home() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	home = realPaths([]string{home})[0]
	for _, dir := range append([]string{l.WorkingDirectory}, l.Roots...) {
		if within(home, realPaths([]string{dir})) {
			return dir
		}
	}
	return ""
}

// Warnings returns what is no mistake in the configuration, but probably not meant.
func (l *Loaded) Warnings() (all []string) {
	const most = "tools may use all of your home directory, since "
	switch home := l.Home(); {
	case home == "":
	case l.Assumed && home == l.WorkingDirectory:
		all = append(all, most+"the server was started in "+home+" and no directory was given: "+
			"give one as an argument (toolserver serve --stdio /path/to/project), or set working_directory")
	default:
		all = append(all, most+home+" is served: give the directory of a project instead (toolserver serve --stdio /path/to/project), "+
			"or name it in working_directory and roots")
	}
	return slices.Concat(all, l.source.Warnings, l.unusedGroups())
}

func (l *Loaded) directory(key, path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", l.Mistake(key, "%v", err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", l.Mistake(key, "%v", err)
	}
	if !info.IsDir() {
		return "", l.Mistake(key, "%s is not a directory", abs)
	}
	d, err := os.Open(abs)
	if err != nil {
		return "", l.Mistake(key, "%v", err)
	}
	return abs, d.Close()
}

// Mistake returns an error about the value of key, with its place if it comes
// from a file.
func (l *Loaded) Mistake(key, format string, args ...any) error {
	if l.File == "" {
		return fmt.Errorf(key+": "+format, args...)
	}
	return l.source.Errorf(key, format, args...)
}

// Line returns FILE:LINE of a setting; empty if the file does not have it, so that a default decides.
func (l *Loaded) Line(s sandbox.Setting) string {
	line := l.source.Line(l.within+s.Key, s.Entry)
	if line == 0 {
		line = l.source.Line(s.Key, s.Entry)
	}
	if line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", l.File, line)
}

// shownHead begins what Show returns.
const shownHead = "# The configuration in force; what is not here is unset (toolserver config schema has every key).\n" +
	"# Secrets are references, or masked. Tools without a list of paths use working_directory and roots.\n"

// Show returns the configuration in force as YAML, with secrets masked. As a file it
// stands for the same configuration, except for what is masked.
func (l *Loaded) Show() []byte {
	c := l.Config
	c.StateDirectory = c.stateDirectory()
	if c.Sandbox.Limits.Memory == 0 {
		c.Sandbox.Limits.Memory = structschema.Bytes(sandbox.DefaultMemory())
	}
	return append([]byte(shownHead), yamlconf.Show(&c, Default(), &l.source)...)
}

// templateHead begins what Template returns. The first line is for editors.
const templateHead = "# yaml-language-server: $schema=toolserver.schema.json\n" +
	"# Editors with the YAML language server complete and check this file after: toolserver config schema > toolserver.schema.json\n" +
	"# Remove the # before a key to set it. Values are the defaults, or examples where nothing is set by default.\n\n"

// Template returns a file to start from, with the keys and what they mean.
func Template() []byte {
	c := Default()
	return append([]byte(templateHead), yamlconf.Template(&c)...)
}

// Schema returns the JSON Schema of the file, for editors.
func Schema() []byte {
	c, schemas := Default(), map[string]json.RawMessage{}
	for name, n := range new(Loaded).notations() {
		if n.schema != nil {
			schemas[name] = n.schema()
		}
	}
	return yamlconf.Schema(&c, schemas)
}
