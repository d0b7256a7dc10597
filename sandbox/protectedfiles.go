package sandbox

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/walk"
)

// protectedFiles finds the files with protected names that there are where commands
// work, for the layer that hides files or makes them read-only by mounts on them. That
// no others come to be is up to the broker.
type protectedFiles struct {
	secrets, controls *pathguard.Names
	readers           []*pathguard.Guard // those that deny by globs
	top               []string           // directories in which they are looked for before each command
	homes             []string           // the same, those of the server and of commands if they are elsewhere

	mu    sync.Mutex
	known map[string]*directoryFiles

	deep    []string // secrets at any depth below top, as of the last survey
	began   time.Time
	last    time.Time // when the last one began that has ended
	hidden  bool      // something that find returned last is in top
	took    time.Duration
	running chan struct{} // closed when the survey ends that runs; nil if none does
	missing string        // what the last survey did not reach
}

// directoryFiles are what was found in a directory, as long as none of those that were
// looked into has changed since.
type directoryFiles struct {
	deny, readOnly []string
	looked         map[string]pathguard.Stamp
	lasting        bool
}

const (
	maxSurvey = 5_000_000 // entries
	// A survey is made again no sooner than this after the last one began, nor so
	// often that it takes more than one part in surveyShare of the time.
	surveyPause = 5 * time.Second
	surveyShare = 50
	// surveyWait is how long a command waits for the first one, or where the last one is
	// so old that commands have not been run for a while.
	surveyWait = 2 * time.Second
	surveyOld  = 30 * time.Second
	surveyTime = time.Minute
)

// packaged are directories of installed packages, which have files with the names
// of secrets that are none, and are removed with their directories every day.
var packaged = []string{"node_modules", "vendor", "site-packages"}

func newProtectedFiles(p Policy, readers ...*pathguard.Guard) *protectedFiles {
	top := union([]string{p.WorkingDirectory}, p.Roots)
	secrets, controls := p.protected(reading), p.protected(writing)
	f := &protectedFiles{top: top, known: map[string]*directoryFiles{}, readers: slices.DeleteFunc(readers, func(g *pathguard.Guard) bool {
		_, denied := g.Patterns()
		return len(denied) == 0
	})}
	if len(controls.Names)+len(f.readers) == 0 {
		return nil
	}
	f.secrets = pathguard.NewNames(secrets.Names, nil)
	// The configuration of a repository changes with ordinary work; see the broker.
	f.controls = pathguard.NewNames(slices.DeleteFunc(slices.Clone(controls.Names), func(n pathguard.Name) bool {
		return strings.HasPrefix(n.Pattern, ".git") && n.Pattern != ".git/hooks" || strings.HasPrefix(n.Pattern, "*.git/")
	}), nil)
	home, _ := os.UserHomeDir() // "" if there is none
	for _, home := range []string{home, p.Settings.Env["HOME"]} {
		if filepath.IsAbs(home) && !slices.Contains(top, home) {
			f.homes = union(f.homes, []string{home})
		}
	}
	return f
}

// find returns what is to be hidden and what is to stay as it is, and what of the
// secrets deep down is not known.
func (f *protectedFiles) find() (deny, readOnly []string, unknown string) {
	if f == nil {
		return nil, nil, ""
	}
	deep, unknown := f.survey()
	f.mu.Lock()
	defer f.mu.Unlock()
	deny = slices.Clone(deep)
	for _, dir := range slices.Concat(f.top, f.homes) {
		found := f.in(dir)
		deny = union(deny, found.deny)
		readOnly = union(readOnly, found.readOnly)
	}
	f.hidden = slices.ContainsFunc(deny, func(path string) bool {
		return slices.ContainsFunc(f.top, func(dir string) bool { return pathguard.Within(dir, path) })
	})
	return deny, readOnly, unknown
}

// hides reports whether what find returned last hides something in the directories
// where commands work.
func (f *protectedFiles) hides() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hidden
}

// in returns what is in a directory, with the lock held. It looks again if the
// directory has changed, or may have at the time of the last look.
func (f *protectedFiles) in(dir string) *directoryFiles {
	if found := f.known[dir]; found != nil && found.lasting {
		same := true
		for path, was := range found.looked {
			now, _ := pathguard.StampOf(path)
			same = same && now == was
		}
		if same {
			return found
		}
	}
	found := &directoryFiles{looked: map[string]pathguard.Stamp{}, lasting: true}
	began, settled := pathguard.StampOf(dir)
	var secrets, controls []string
	found.deny, secrets = f.secrets.Find(dir)
	found.readOnly, controls = f.controls.Find(dir)
	for _, path := range slices.Concat(secrets, controls) {
		now, calm := pathguard.StampOf(path)
		found.looked[path], found.lasting = now, found.lasting && calm
	}
	found.lasting = found.lasting && settled && found.looked[dir] == began
	f.known[dir] = found
	return found
}

// survey returns the secrets at any depth. It begins a survey if the last one is some
// time ago, and waits for it only if that is long ago, or there was none.
func (f *protectedFiles) survey() (deep []string, unknown string) {
	f.mu.Lock()
	pause := max(surveyPause, surveyShare*f.took)
	if f.running == nil && time.Since(f.began) > pause {
		f.began, f.running = time.Now(), make(chan struct{})
		go f.look()
	}
	old := func() bool { return time.Since(f.last) > max(surveyOld, 2*pause) }
	running, wait := f.running, old()
	f.mu.Unlock()
	if running != nil && wait {
		select {
		case <-running:
		case <-time.After(surveyWait):
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if old() {
		return f.deep, cmp.Or(f.missing, "the search for them goes on")
	}
	return f.deep, f.missing
}

// look makes a survey.
func (f *protectedFiles) look() {
	ctx, cancel := context.WithTimeout(context.Background(), surveyTime)
	defer cancel()
	began := time.Now()
	var found []string
	missing := ""
	dirs := f.top
	for _, g := range f.readers {
		for _, dir := range g.AllowedBelow() {
			if !slices.ContainsFunc(dirs, func(above string) bool { return pathguard.Within(above, dir) }) {
				dirs = union(dirs, []string{dir})
			}
		}
	}
	for _, dir := range dirs {
		stats, err := f.below(ctx, dir, &found)
		switch {
		case err != nil:
			missing = dir + ": " + err.Error()
		case stats.Truncated:
			missing = dir + " has too many files to look through"
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if missing != "" { // what was known stays so
		found = union(f.deep, found)
	}
	f.deep, f.missing, f.took, f.last = found, missing, time.Since(began), began
	close(f.running)
	f.running = nil
}

func (f *protectedFiles) below(ctx context.Context, dir string, found *[]string) (walk.Stats, error) {
	d, err := os.Open(dir)
	if err != nil {
		return walk.Stats{}, nil // and no command reads in it
	}
	defer d.Close()
	skip := func(e *walk.Entry) bool {
		return e.IsDir() && (slices.Contains(packaged, e.Name()) || e.Name() == ".git")
	}
	return walk.Walk(ctx, d, dir, walk.Options{MaxEntries: maxSurvey, Hidden: true, Skip: skip}, func(e *walk.Entry) error {
		secret := false
		if f.secrets.Ends(e.Name()) {
			_, secret = f.secrets.Match(string(filepath.Separator)+e.Rel(), e.IsDir())
		}
		path := ""
		if secret || len(f.readers) > 0 {
			path = filepath.Join(dir, e.Rel())
		}
		if !secret && !slices.ContainsFunc(f.readers, func(g *pathguard.Guard) bool { return g.DeniesByGlob(path) }) {
			return nil
		}
		*found = append(*found, path)
		return walk.SkipDir
	})
}
