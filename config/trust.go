package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/toolserver/toolserver/config/yamlconf"
	"github.com/toolserver/toolserver/sandbox"
)

// Trust is a content of a file that a person has trusted.
type Trust struct {
	File   string    `json:"file"` // its directory has no links
	SHA256 string    `json:"sha256"`
	Since  time.Time `json:"since"`
}

// ledger is what is kept about trust, where neither tools nor commands get.
type ledger struct {
	Trusted []Trust `json:"trusted,omitempty"`
	// Exposed are files that tools have been able to write since, each with the
	// hash of what was in it then, which is empty if there was none.
	Exposed []Trust `json:"exposed,omitempty"`
}

const (
	trustOwner = "trust" // of the state
	trustName  = "trusted.json"
	trustWait  = 10 * time.Second // for the lock, which is held for a write
)

// TrustFile returns where it is kept what is trusted; empty if that is not known.
// The environment alone decides: a configuration must not say what it is trusted by.
func TrustFile() string {
	if dir := userState(); dir != "" {
		return filepath.Join(dir, trustOwner, trustName)
	}
	return ""
}

// readLedger returns an empty one if nothing is kept.
func readLedger() (l ledger, err error) {
	if userState() == "" {
		return l, nil
	}
	data, err := sandbox.NewState(userState(), trustOwner).Read(trustName)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	return l, err
}

// changeLedger keeps what change makes of the ledger.
func changeLedger(change func(*ledger)) error {
	if userState() == "" {
		return errors.New("trust cannot be kept, since the home directory is not known: set HOME, or name the configuration with --config")
	}
	ctx, cancel := context.WithTimeout(context.Background(), trustWait)
	defer cancel()
	state := sandbox.NewState(userState(), trustOwner)
	unlock, err := state.Lock(ctx, trustName)
	if err != nil {
		return err
	}
	defer unlock()
	l, err := readLedger()
	if err != nil {
		return err
	}
	change(&l)
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return state.Write(trustName, append(data, '\n'))
}

// trusts reports whether a person has trusted that content of the file.
func (l *ledger) trusts(file, hash string) bool {
	return slices.ContainsFunc(l.Trusted, func(t Trust) bool { return t.File == file && t.SHA256 == hash })
}

func (l *ledger) exposed(file string) *Trust {
	if i := slices.IndexFunc(l.Exposed, func(t Trust) bool { return t.File == file }); i >= 0 {
		return &l.Exposed[i]
	}
	return nil
}

// trustPath is what a file is called in the ledger, whatever links lead to its
// directory. A link in place of the file itself is trusted under its own name:
// paths in the file are relative to that.
func trustPath(file string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		return filepath.Join(dir, filepath.Base(file))
	}
	return file
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// TrustContent has the file obeyed wherever it is found, until its content changes.
// It returns the configuration, which has no mistakes.
func TrustContent(file string, directories []string) (trust Trust, l *Loaded, err error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return trust, nil, err
	}
	path := trustPath(abs)
	if !slices.ContainsFunc(candidates(), func(found string) bool { return path == trustPath(found) || filepath.Base(path) == found }) {
		return trust, nil, fmt.Errorf("%s needs no trust: only files that the server finds by itself do "+
			"(%s in the directory it is started in, and the user's config.yaml); name this one with --config", abs, workspaceFile)
	}
	if l, err = load(Origin{Source: OriginNamed, File: abs}, directories, nil); err != nil {
		return trust, nil, err
	}
	trust = Trust{path, l.SHA256, time.Now().UTC().Truncate(time.Second)}
	return trust, l, changeLedger(func(all *ledger) {
		if !all.trusts(path, l.SHA256) {
			all.Trusted = append(all.Trusted, trust)
		}
	})
}

// Untrust takes back the trust in every content of the file, and reports whether
// there was any.
func Untrust(file string) (trusted bool, err error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return false, err
	}
	err = changeLedger(func(all *ledger) {
		before := len(all.Trusted)
		all.Trusted = slices.DeleteFunc(all.Trusted, func(t Trust) bool { return t.File == trustPath(abs) || t.File == abs })
		trusted = len(all.Trusted) < before
	})
	return trusted, err
}

// TrustedContents returns all that is trusted.
func TrustedContents() ([]Trust, error) {
	l, err := readLedger()
	return l.Trusted, err
}

// TrustExposed reports whether trust is kept where tools may write, so that only
// protection keeps them from trusting what they write.
func (l *Loaded) TrustExposed() bool { return trustExposed(l.Policy().Writable()) }

func trustExposed(writable []string) bool {
	return userState() != "" && replaceable(TrustFile(), writable)
}

// Changes returns a line such as "sandbox.network: all" for each setting of the
// file that is not the default, with secrets masked.
func (l *Loaded) Changes() []string {
	defaults := Default()
	return yamlconf.Changes(&l.Config, &defaults, &l.source)
}

// Prepare is called before tools may write under this policy. Where they will be
// able to reach what the program obeys next time, it is first kept what is there
// now: protection covers only what exists, and one day's commands must not leave a
// configuration for a server that has another working directory.
func (l *Loaded) Prepare() error {
	if userState() == "" {
		return nil
	}
	writable, exposed := l.Policy().Writable(), ""
	if file := userFile(); file != "" && replaceable(file, writable) {
		exposed = trustPath(file)
	}
	if exposed == "" && !trustExposed(writable) {
		return nil
	}
	all, err := readLedger()
	if _, missing := os.Lstat(TrustFile()); err != nil || missing == nil && (exposed == "" || all.exposed(exposed) != nil) {
		return err
	}
	content, err := readFound(userFile())
	hash := ""
	if err == nil {
		hash = hashOf(content)
	}
	err = changeLedger(func(all *ledger) {
		if exposed != "" && all.exposed(exposed) == nil {
			all.Exposed = append(all.Exposed, Trust{exposed, hash, time.Now().UTC().Truncate(time.Second)})
		}
	})
	if exposed == "" && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
		return nil // commands, which run as the same user, cannot write there either
	}
	return err
}
