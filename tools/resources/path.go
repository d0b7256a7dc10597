package resources

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"toolserver/sandbox/pathguard"
)

// openEither opens what the path of a file URI stands for. By RFC 8089 that is
// an absolute path. People, and models above all, also write file:///README.md
// for the README.md in front of them, so what is not there, or not allowed, is
// looked for beneath the working directory. The guard judges both.
func openEither[T any](path string, open func(path string) (T, error)) (found T, spelled string, err error) {
	absolute, relative := spellings(path)
	if absolute == "" {
		found, err = open(relative)
		return found, relative, err
	}
	found, err = open(absolute)
	if relative == "" || !isDenied(err) && !isMissing(err) {
		return found, absolute, err
	}
	other, otherErr := open(relative)
	switch {
	case otherErr == nil || !isMissing(otherErr):
		return other, relative, otherErr
	case isMissing(err):
		return found, absolute, err
	}
	return found, absolute, fmt.Errorf("%v, and %w", otherErr, err)
}

// spellings returns the paths that the path of a file URI may mean; one of them
// may be empty. The slashes it begins with are part of the URI, and some clients
// write one more.
func spellings(path string) (absolute, relative string) {
	path = strings.TrimLeft(path, "/")
	switch {
	case filepath.IsAbs(path):
		return path, "" // it begins with a drive
	case filepath.IsAbs("/" + path):
		return "/" + path, path
	}
	return "", path
}

func isDenied(err error) bool {
	e, ok := errors.AsType[*pathguard.Error](err)
	return ok && e.Kind == pathguard.KindDenied
}

// isMissing reports whether there is nothing at a path.
func isMissing(err error) bool {
	e, ok := errors.AsType[*pathguard.Error](err)
	return ok && (e.Kind == pathguard.KindNotFound || e.Kind == pathguard.KindNotADirectory)
}
