package main

import (
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
	server string        // the program under test
	cache  string        // keeps what is built and installed
	temp   string        // removed at the end
	rounds int           // of a comparison
	starts int           // rounds of the comparison of starts
	files  int           // in the tree that is searched
	time   time.Duration // of a target in a round
	table  table
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
	l.temp, err = os.MkdirTemp("", "bench-")
	return err
}

func (l *lab) close() { os.RemoveAll(l.temp) }

// buildPeers builds the Go programs to compare with, which have modules of
// their own, and the product with tools to measure it by.
func (l *lab) buildPeers(ctx context.Context) error {
	for _, b := range []struct{ dir, program, pkg string }{
		{"bench/peers", "mcpgo", "./mcpgo"},
		{"bench/peers", "ceiling", "./ceiling"},
		{"bench/peers/markfiles", "markfiles", "github.com/mark3labs/mcp-filesystem-server"},
		{".", "manytools", "./bench/manytools"}, // the product with more tools
	} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", l.program(b.program), b.pkg)
		cmd.Dir = b.dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", b.pkg, err, out)
		}
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
		b, err := os.ReadFile(filepath.Join("bench/peers/npm", name))
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
	cmd := exec.CommandContext(ctx, "npm", "install", "--prefer-offline", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return dir, nil
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
