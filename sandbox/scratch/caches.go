package scratch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/toolserver/toolserver/osfile"
)

const (
	cachesName   = "toolserver-commands" // among the caches of the user
	goBuild      = "cache/go-build"      // in the directory; go runs what it keeps there
	cacheAge     = 30 * 24 * time.Hour   // after which an unused directory is removed
	cacheRenewed = time.Hour             // how exact is known when one was used
	maxSweep     = time.Second           // after which the next one waits for another command
)

// Caches is the directory where commands keep what they download and build, if policy does
// not let them where programs do that otherwise. It stays for the next server.
type Caches struct {
	Path string
	made atomic.Int64 // when it was last, in nanoseconds
}

// NewCaches returns the caches of commands that work in a directory, whose path has no links. Each has
// others, so that commands put nothing into what is built elsewhere. They are nil if nothing can be
// kept, or unless theirs is a directory that commands cannot replace.
func NewCaches(work string, theirs func(dir string) bool) *Caches {
	base, err := os.UserCacheDir()
	dir := filepath.Join(base, cachesName)
	if err != nil || !theirs(dir) || !mayKeep(dir) {
		return nil
	}
	sum := sha256.Sum256([]byte(work))
	return &Caches{Path: filepath.Join(dir, hex.EncodeToString(sum[:16]))}
}

// mayKeep reports whether dir is private, or can be made where the user has others, or
// in the home directory. That must exist: there are users who are to have none.
func mayKeep(dir string) bool {
	private, err := osfile.OpenPrivate(dir)
	if err == nil {
		return private.Close() == nil
	}
	for _, above := range []string{filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
		if !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		var info fs.FileInfo
		if info, err = os.Stat(above); err == nil {
			return info.IsDir() && osfile.Of(info).UID == os.Geteuid() && osfile.Writable(above)
		}
	}
	return false
}

// Make makes the directory, unless it is there, and marks it as used.
func (c *Caches) Make() error {
	info, err := os.Lstat(c.Path)
	if err == nil && info.IsDir() && time.Since(time.Unix(0, c.made.Load())) < cacheRenewed {
		return nil
	}
	base, name := filepath.Split(c.Path)
	if err = os.MkdirAll(base, 0o700); err != nil {
		return fmt.Errorf("make a directory for caches of commands: %w", err)
	}
	root, err := osfile.OpenPrivate(base)
	if err != nil {
		return fmt.Errorf("caches of commands: %w", err)
	}
	defer root.Close()
	if err = root.MkdirAll(filepath.Join(name, goBuild), 0o700); err != nil { // there is a link, which commands may have put there
		err = errors.Join(root.RemoveAll(filepath.Join(name, "cache")), root.MkdirAll(filepath.Join(name, goBuild), 0o700))
	}
	now := time.Now()
	if err = errors.Join(err, root.Chtimes(name, now, now)); err != nil {
		return fmt.Errorf("make a directory for caches of commands: %w", err)
	}
	c.made.Store(now.UnixNano())
	// What was not used for long goes, some of it at a time, since that may take seconds.
	entries, _ := os.ReadDir(base)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && time.Since(info.ModTime()) > cacheAge && time.Since(now) < maxSweep {
			_ = removeTree(filepath.Join(base, e.Name()))
		}
	}
	return nil
}
