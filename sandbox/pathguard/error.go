package pathguard

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/toolserver/toolserver/osfile"
)

// Kind is the class of an [Error], for callers that decide on it.
type Kind string

// The kinds of [Error].
const (
	KindDenied        Kind = "denied"          // the policy refuses
	KindNotFound      Kind = "not_found"       // permitted, but there is no such file
	KindNotAFile      Kind = "not_a_file"      // a directory, FIFO, socket or device
	KindNotADirectory Kind = "not_a_directory" // the path or a parent of it is a file
	KindExists        Kind = "already_exists"
	KindNotEmpty      Kind = "not_empty"    // a directory that is to be deleted
	KindInvalidPath   Kind = "invalid_path" // empty, NUL, too long, a loop of links, meant otherwise
	KindIO            Kind = "io"           // the operating system refuses or fails
)

// Error is the error of every method of a [Guard]. Its message is one sentence
// that is complete without the fields. For KindDenied it does not depend on
// whether the path exists.
type Error struct {
	Path string // as the caller gave it
	Kind Kind
	// Rule is the deny rule that refused, for KindDenied, or "protected: "
	// and what protects; it is empty if the path is outside the allowed ones.
	Rule string
	// Reason is the message without the path.
	Reason string
	// Allowed are the allowed paths, for KindDenied.
	Allowed []string
	// Err is the cause, where there is one.
	Err error
}

// Error returns the sentence for people and models.
func (e *Error) Error() string { return shown(e.Path) + " " + e.Reason }

// Unwrap returns the cause, so that errors.Is(err, fs.ErrNotExist) and the like
// work.
func (e *Error) Unwrap() error { return e.Err }

// shown returns path fit for a message: one with control characters is quoted.
func shown(path string) string {
	if path == "" {
		return `""`
	}
	if len(path) > maxPath {
		path = path[:64] + "..."
	}
	if strings.ContainsFunc(path, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// request is one call: what the messages need, and the path made absolute.
type request struct {
	path, abs string
	guard     *Guard
	policy    *policy // which has to allow it, of guard or another one
	dir       bool    // a directory is to be listed
	itself    bool    // a symlink at the end is meant itself, and not followed
}

func (q request) error(kind Kind, reason string, cause error) *Error {
	return &Error{Path: q.path, Kind: kind, Reason: reason, Err: cause}
}

// maxListed bounds the allowed paths in a message.
const maxListed = 8

func (q request) outside() *Error {
	allowed := q.policy.Allowed()
	list := "nothing is allowed"
	if n := len(allowed); n > maxListed {
		list = fmt.Sprintf("allowed: %s and %d more", strings.Join(allowed[:maxListed], ", "), n-maxListed)
	} else if n > 0 {
		list = "allowed: " + strings.Join(allowed, ", ")
	}
	return &Error{Path: q.path, Kind: KindDenied, Reason: "is outside the allowed paths (" + list + ")", Allowed: allowed}
}

func (q request) denied(rule string) *Error {
	return &Error{Path: q.path, Kind: KindDenied, Rule: rule, Reason: q.policy.Reason(rule), Allowed: q.policy.Allowed()}
}

// Reason says for people what a rule does that [Guard.Denied] or
// [Guard.Protected] has returned: the sentence goes on behind the path.
func (p *policy) Reason(rule string) string {
	name, protected := strings.CutPrefix(rule, protectedPrefix)
	if !protected {
		return "is denied by the rule " + rule
	}
	reason := "is " + rule
	if p.protection.hint != nil {
		reason += " (" + p.protection.hint(name) + ")"
	}
	return reason
}

// failure turns what happened at a permitted path into an *Error; nothing stays nil.
func (q request) failure(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.Path = q.path
		if e.Kind == KindDenied {
			e.Allowed = q.policy.Allowed()
		}
		return e
	}
	switch {
	case errors.Is(err, osfile.ErrMoved):
		return q.error(KindIO, "kept changing while it was being opened; try again", err)
	case errors.Is(err, fs.ErrNotExist):
		return q.error(KindNotFound, "does not exist", err)
	case errors.Is(err, syscall.ENOTDIR):
		return q.error(KindNotADirectory, "does not exist: a part of it is a file where a directory is needed", err)
	case errors.Is(err, syscall.ENOTEMPTY):
		return q.error(KindNotEmpty, "is a directory that is not empty", err)
	case errors.Is(err, fs.ErrExist):
		return q.error(KindExists, "already exists", err)
	case errors.Is(err, syscall.ELOOP):
		return q.error(KindInvalidPath, "is a loop of symbolic links", err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return q.error(KindInvalidPath, "has a name that is too long", err)
	case errors.Is(err, syscall.EPERM) && runtime.GOOS == "darwin" && private(q.abs):
		return q.error(KindIO, "cannot be used: macOS does not let this program into Desktop, Documents, Downloads and other volumes before a person "+
			"allows the program that has started it, such as Claude or a terminal, to: System Settings, Privacy & Security, Files and Folders; "+
			"then start that again", err)
	}
	return q.error(KindIO, "cannot be used: "+cause(err), err)
}

// private reports whether macOS asks a person before a program may use an absolute path
// (Transparency, Consent and Control).
func private(path string) bool {
	names := strings.SplitN(strings.ToLower(path), "/", 5)
	if len(names) > 3 && names[1] == "users" {
		return slices.Contains([]string{"desktop", "documents", "downloads"}, names[3])
	}
	return len(names) > 2 && names[1] == "volumes"
}

// odd returns what is wrong with a path of which the end is missing, if that looks like a
// mistake, or nil.
func (q request) odd(missing string, cause error) *Error {
	why, meant := odd(q.path, missing)
	if why == "" {
		return nil
	}
	if meant != "" {
		why += ": give " + shown(meant)
	}
	return q.error(KindInvalidPath, why, cause)
}

// cause returns the system's words without the path, which the message has.
func cause(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return err.Error()
}
