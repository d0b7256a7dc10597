package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// lab is where measuring takes place.
type lab struct {
	server    string        // the program under test
	before    string        // the commit to compare with, or none
	cache     string        // keeps what is built and installed
	temp      string        // removed at the end
	rounds    int           // of a comparison
	starts    int           // rounds of the comparison of starts
	files     int           // in the tree that is searched
	mebibytes int           // of the one file that is searched
	time      time.Duration // of a target in a round
	table     table

	programsBefore map[string]string // programs of ours, and the same ones before
}

func (l *lab) open(ctx context.Context) (err error) {
	if l.server, err = filepath.Abs(l.server); err != nil {
		return err
	}
	if _, err := os.Stat(l.server); err != nil {
		return fmt.Errorf("the server to measure: %w; make build makes it", err)
	}
	if l.cache, err = filepath.Abs(l.cache); err != nil {
		return err
	}
	if err := os.MkdirAll(l.cache, 0o755); err != nil {
		return err
	}
	if err := l.buildPeers(ctx); err != nil {
		return err
	}
	if l.temp, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	if err := l.buildBefore(ctx); err != nil {
		l.close()
		return err
	}
	return nil
}

func (l *lab) close() { os.RemoveAll(l.temp) }

// buildPeers builds the Go programs to compare with, which have modules of
// their own, and the product with tools to measure it by.
func (l *lab) buildPeers(ctx context.Context) error {
	for _, b := range []struct{ dir, program, pkg string }{
		{"test/bench/peers", "mcpgo", "./mcpgo"},
		{"test/bench/peers", "ceiling", "./ceiling"},
		{"test/bench/peers", upstreamProgram, "./upstream"},
		{"test/bench/peers/markfiles", "markfiles", "github.com/mark3labs/mcp-filesystem-server"},
		{".", "manytools", "./test/bench/manytools"}, // the product with more tools
	} {
		if err := goBuild(ctx, b.dir, l.program(b.program), b.pkg); err != nil {
			return err
		}
	}
	return nil
}

// buildBefore builds the product as it was at the commit to compare with, if
// there is one.
func (l *lab) buildBefore(ctx context.Context) error {
	if l.before == "" {
		return nil
	}
	source, err := l.dir("source")
	if err != nil {
		return err
	}
	archive := source + ".tar"
	if err := runIn(ctx, ".", "git", "archive", "--output", archive, l.before); err != nil {
		return err
	}
	if err := runIn(ctx, source, "tar", "-xf", archive); err != nil {
		return err
	}
	l.programsBefore = map[string]string{}
	for program, pkg := range map[string]string{l.server: "./cmd/toolserver", l.program("manytools"): "./test/bench/manytools"} {
		l.programsBefore[program] = filepath.Join(l.temp, filepath.Base(program)+earlier)
		if err := goBuild(ctx, source, l.programsBefore[program], pkg); err != nil {
			return fmt.Errorf("%s: %w", l.before, err)
		}
	}
	return nil
}

// goBuild builds a package of the module in dir, as make build does.
func goBuild(ctx context.Context, dir, program, pkg string) error {
	return runIn(ctx, dir, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, pkg)
}

// runIn runs a command in dir. What it prints is part of the error.
func runIn(ctx context.Context, dir string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// program returns where a peer is built.
func (l *lab) program(name string) string { return filepath.Join(l.cache, name) }

// npmPeers installs the peers that are npm packages, if they are not there, and
// returns the directory they are in.
func (l *lab) npmPeers(ctx context.Context) (string, error) {
	dir := filepath.Join(l.cache, "npm")
	for _, name := range []string{"package.json", "echo.mjs"} {
		b, err := os.ReadFile(filepath.Join("test/bench/peers/npm", name))
		if err != nil {
			return "", err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return "", err
		}
	}
	// Installing what is installed takes npm a second and needs no network.
	return dir, runIn(ctx, dir, "npm", "install", "--prefer-offline", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
}

// config writes a configuration file.
func (l *lab) config(name, text string) (string, error) {
	file := filepath.Join(l.temp, name)
	return file, os.WriteFile(file, []byte(text), 0o644)
}

// dir makes a directory to work in.
func (l *lab) dir(name string) (string, error) {
	d := filepath.Join(l.temp, name)
	return d, os.MkdirAll(d, 0o755)
}
