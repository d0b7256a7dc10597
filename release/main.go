// Release makes everything that a version of toolserver is published as: binaries,
// archives, packages, images, bundles and the entries of catalogs, offline.
//
//	go run -C release . 0.1.0
//
// Equal commits give equal files, in any directory: every time is that of the commit,
// or SOURCE_DATE_EPOCH. It publishes and signs nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
)

// A release is one version, made from one commit.
type release struct {
	root, work string
	out        output
	version    version
	commit     string
	date       time.Time
	platforms  []platform
	binaries   map[platform]string
	host       string // the binary that runs here
	pages      []file // completions and the man page
	debian     bool   // make the default image, of Debian's packages
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	out := flags.String("o", "", "write to this directory, which must not exist (default build/release/VERSION)")
	only := flags.String("platforms", "", "build only these, such as linux/amd64,darwin/arm64 (default all)")
	modified := flags.Bool("modified", false, "release a tree with changes that are not in its commit")
	debian := flags.Bool("debian", false, "make the default image, too, of packages that apt-get downloads; the Dockerfile makes it otherwise")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("give one version, such as 0.1.0")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	r := &release{root: root, version: version(flags.Arg(0)), platforms: platforms(), binaries: map[platform]string{}, debian: *debian}
	if _, err := semver.StrictNewVersion(flags.Arg(0)); err != nil {
		return fmt.Errorf("%q is no semantic version, such as 0.1.0 or 0.2.0-rc.1: %w", r.version, err)
	}
	if *only != "" {
		if r.platforms, err = selected(*only); err != nil {
			return err
		}
	}
	if err := r.source(ctx, *modified); err != nil {
		return err
	}
	return r.into(ctx, *out)
}

// selected returns the platforms of a list.
func selected(list string) (chosen []platform, err error) {
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(platforms(), func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("no platform %q; there are %v", name, platforms())
		}
		chosen = append(chosen, platforms()[i])
	}
	return chosen, nil
}

// source finds out what is released: the commit and its time.
func (r *release) source(ctx context.Context, modified bool) error {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = r.root
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return fmt.Errorf("%s is no clone of the repository: %w", r.root, err)
	}
	changes, err := git("status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" && !modified {
		return fmt.Errorf("the tree has changes that are not in commit %s; commit them, or try the release with -modified:\n%s", commit, changes)
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = git("log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.commit, r.date = commit, time.Unix(n, 0).UTC()
	return nil
}

// into makes the release in a directory, all of it or nothing.
func (r *release) into(ctx context.Context, out string) (err error) {
	if out == "" {
		out = filepath.Join(r.root, "build", "release", string(r.version))
	}
	if _, err := os.Lstat(out); err == nil {
		return fmt.Errorf("%s exists; remove it first", out)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	r.out.sums = map[string]string{}
	if r.out.dir, err = os.MkdirTemp(filepath.Dir(out), ".release-*"); err != nil {
		return err
	}
	defer os.RemoveAll(r.out.dir)
	if r.work, err = os.MkdirTemp("", "release-*"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	for _, part := range []struct {
		name string
		make func(context.Context) error
	}{
		{"binaries", r.buildAll}, {"completions and man page", r.describe}, {"archives", r.archives}, {"packages", r.packages},
		{"images", r.images}, {"bundles", r.bundles}, {"npm packages", r.npm}, {"catalogs", r.catalogs}, {"checksums", r.out.checksums},
	} {
		start := time.Now()
		if err := part.make(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		fmt.Fprintf(os.Stderr, "%6.1f s  %s\n", time.Since(start).Seconds(), part.name)
	}
	if err := os.Chmod(r.out.dir, 0o755); err != nil {
		return err
	}
	return os.Rename(r.out.dir, out)
}

func (r *release) buildAll(ctx context.Context) (err error) {
	for _, p := range r.platforms {
		if r.binaries[p], err = r.build(ctx, p); err != nil {
			return err
		}
	}
	here := platform{runtime.GOOS, runtime.GOARCH}
	if r.host = r.binaries[here]; r.host == "" {
		r.host, err = r.build(ctx, here)
	}
	return err
}

// binary returns the binary of a platform as an entry of an archive.
func (r *release) binary(p platform, name string) (file, error) {
	data, err := os.ReadFile(r.binaries[p])
	return file{name: name, mode: 0o755, data: data}, err
}

// text returns a file of the repository as an entry of an archive.
func (r *release) text(name string) (file, error) {
	data, err := os.ReadFile(filepath.Join(r.root, name))
	return file{name: name, mode: 0o644, data: data}, err
}

// archives writes what people download and unpack.
func (r *release) archives(context.Context) error {
	for _, p := range r.platforms {
		name := r.version.archive(p)
		base := strings.TrimSuffix(strings.TrimSuffix(name, ".zip"), ".tar.gz")
		binary, err := r.binary(p, p.program())
		if err != nil {
			return err
		}
		files := append([]file{binary}, r.pages...)
		for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
			f, err := r.text(name)
			if err != nil {
				return err
			}
			files = append(files, f)
		}
		for i := range files {
			files[i].name = base + "/" + files[i].name
		}
		pack := tarGz
		if p.os == "windows" {
			pack = zipOf
		}
		data, err := pack(files, r.date)
		if err != nil {
			return err
		}
		if err := r.out.write(name, data); err != nil {
			return err
		}
		bom, err := r.sbom(p, binary.data)
		if err != nil {
			return err
		}
		if err := r.out.write(base+".cdx.json", bom); err != nil {
			return err
		}
	}
	return nil
}
