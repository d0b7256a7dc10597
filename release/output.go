package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// An output is the directory of a release.
type output struct {
	dir  string
	sums map[string]string // SHA-256 of its files
}

// write adds a file to the release.
func (o output) write(name string, data []byte) error {
	path := filepath.Join(o.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	o.sums[name] = fmt.Sprintf("%x", sha256.Sum256(data))
	return os.WriteFile(path, data, 0o644)
}

// checksums writes the SHA-256 of every file, as sha256sum -c reads them.
func (o output) checksums(context.Context) error {
	var lines strings.Builder
	err := fs.WalkDir(os.DirFS(o.dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			fmt.Fprintf(&lines, "%s  %s\n", o.sums[path], path)
		}
		return err
	})
	if err != nil {
		return err
	}
	return o.write("checksums.txt", []byte(lines.String()))
}
