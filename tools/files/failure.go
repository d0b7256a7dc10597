package files

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/tools/files/content"
)

// failedCall is the result of a call that cannot be carried out, as an error.
type failedCall struct{ domain.ToolResult }

func failed(errorType, message, hint string) error {
	return &failedCall{domain.Failure(errorType, message, hint)}
}

func (f *failedCall) Error() string { return f.Content[0].Text }

// failure returns what a tool answers to an error: the result of a [*failedCall], what
// a [*content.Failure] says, or what it makes of the guard's refusal, whose kinds become error types here only. Another
// error is returned as it is: the tool broke, or its context ended.
func (t fileTool) failure(err error) (domain.ToolResult, error) {
	if f, ok := errors.AsType[*failedCall](err); ok {
		return f.ToolResult, nil
	}
	if f, ok := errors.AsType[*content.Failure](err); ok {
		return domain.Failure(f.Type, f.Message, f.Hint), nil
	}
	refusal, ok := errors.AsType[*pathguard.Error](err)
	if !ok {
		return domain.ToolResult{}, err
	}
	path, message, hint := refusal.Path, refusal.Error(), hints[refusal.Kind]
	right := ""
	switch refusal.Kind {
	case pathguard.KindNotFound:
		return t.missing(path, message), nil
	case pathguard.KindIO:
		return domain.Failure("io_error", message, hint), nil
	case pathguard.KindDenied:
		hint = deniedHint(refusal)
		if refusal.Rule == "" && (path == "/tmp" || strings.HasPrefix(path, "/tmp/")) {
			message += "; commands may have a /tmp of their own: use a path in the working directory"
		}
	case pathguard.KindNotADirectory:
		hint = "Call " + callOn("list_directory", parent(path)) + " for what is there."
		right = t.callFor(path)
	case pathguard.KindNotAFile:
		right = t.callFor(path)
	}
	if right != "" {
		message, hint = message+"; call "+right, "Call "+right+" for its content."
	}
	return domain.Failure(string(refusal.Kind), message, hint), nil
}

// hints are what to do next, by the kind of a refusal that does not depend on the path.
var hints = map[pathguard.Kind]string{
	pathguard.KindIO:          "Try again, choose another path, or tell the operator.",
	pathguard.KindNotAFile:    "Only regular files have content to work with; choose another path.",
	pathguard.KindExists:      "Choose another path, or allow the file to be overwritten.",
	pathguard.KindInvalidPath: "Correct the path, as the message says.",
}

func deniedHint(e *pathguard.Error) string {
	switch {
	case len(e.Allowed) == 0:
		return "The policy allows this tool no path at all; use another tool, or ask the operator."
	case strings.HasPrefix(e.Rule, "protected: "):
		return "Work without this file; only the operator can allow it."
	case e.Rule == "hard links":
		return "Choose a file that has no other name; the operator allows hard links with hardlinks: allow in the tool's settings."
	case e.Rule != "":
		return "Choose a path that no rule denies."
	}
	return "Choose a path beneath one of: " + strings.Join(e.Allowed, ", ") + "."
}

// callFor returns the call that is right for what is at path, or "".
func (s *toolset) callFor(path string) string {
	info, err := s.listed.Stat(path)
	switch {
	case err != nil:
		return ""
	case info.Mode.IsDir():
		return callOn("list_directory", path)
	case info.Mode.IsRegular():
		return callOn("read_file", path)
	}
	return ""
}

// callOn returns the literal call of a tool with a path.
func callOn(tool, path string) string { return fmt.Sprintf("%s(path=%q)", tool, path) }

// parent returns the directory of a path as the caller spelled it.
func parent(name string) string {
	return filepath.ToSlash(filepath.Dir(strings.TrimRight(name, "/")))
}

// under returns the path of rel, which lies beneath the directory dir, as the
// caller can pass it on.
func under(dir, rel string) string {
	if path.Clean(filepath.ToSlash(dir)) == "." {
		return rel
	}
	return strings.TrimRight(dir, "/") + "/" + rel
}

const (
	maxSiblings   = 5000 // names of a directory that are looked at, the first it lists
	maxSuggestion = 3
)

// missing says that there is nothing at a path, names what is there and looks
// like it, and the call to make next. It tells only what list_directory would.
func (t fileTool) missing(name, message string) domain.ToolResult {
	dir, near := t.siblings(name)
	list := callOn("list_directory", dir)
	if len(near) == 0 {
		return domain.Failure("not_found", message+"; "+list+" shows what there is", "Call "+list+".")
	}
	next := fmt.Sprintf("%s again with path=%q", t.name, near[0])
	if t.name == ReadFile {
		next = cmp.Or(t.callFor(near[0]), list)
	}
	return domain.Failure("not_found",
		fmt.Sprintf("%s; did you mean %s? Call %s", message, strings.Join(near, ", "), next),
		fmt.Sprintf("Call %s, or %s for everything there.", next, list))
}

// siblings returns the nearest directory above name that can be listed, and up
// to three paths in it that name may be a slip for, with what follows in name where that
// exists.
func (s *toolset) siblings(name string) (dir string, near []string) {
	for dir = parent(name); ; dir = parent(dir) {
		if d, err := s.listed.OpenDir(dir); err == nil {
			defer d.Close()
			names, _ := d.Readdirnames(maxSiblings) // what came before an error will do
			first := firstBelow(dir, name)
			for _, n := range alike(first, names) {
				if _, denied := d.Denied(n, false); denied {
					continue
				}
				path := under(dir, n)
				if _, rest, more := strings.Cut(filepath.ToSlash(name), first+"/"); more && s.exists(path+"/"+rest) {
					path += "/" + rest
				}
				if near = append(near, path); len(near) == maxSuggestion {
					break
				}
			}
			return dir, near
		}
		if parent(dir) == dir {
			return ".", nil
		}
	}
}

// exists reports whether something is at a path that may be listed.
func (s *toolset) exists(path string) bool {
	_, err := s.listed.Stat(path)
	return err == nil
}

// firstBelow returns the first name of the path name that follows dir, one of
// its parents, or "" if it cannot be told from the spelling.
func firstBelow(dir, name string) string {
	rel, err := filepath.Rel(dir, name)
	if err != nil {
		return path.Base(name)
	}
	first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	if first == ".." {
		return ""
	}
	return first
}

// alike returns the names that are like word, the most alike first.
func alike(word string, names []string) []string {
	if word == "" {
		return nil
	}
	type found struct {
		name             string
		likeness, typing int // of equal likeness, fewer mistakes in typing come first
	}
	var all []found
	lower, slip := strings.ToLower(word), nearest.Like(word)
	stem := func(s string) string { return strings.TrimSuffix(s, path.Ext(s)) }
	for _, name := range names {
		n := strings.ToLower(name)
		typing, near := slip.Distance(name)
		switch {
		case n == lower:
			all = append(all, found{name, 4, 0})
		case stem(n) != "" && stem(n) == stem(lower):
			all = append(all, found{name, 3, 0})
		case near:
			all = append(all, found{name, 2, typing})
		case len(word) >= 3 && (strings.HasPrefix(n, lower) || len(n) >= 3 && strings.HasPrefix(lower, n)):
			all = append(all, found{name, 1, 0})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.likeness, a.likeness), cmp.Compare(a.typing, b.typing), strings.Compare(a.name, b.name))
	})
	best := make([]string, len(all))
	for i, f := range all {
		best[i] = f.name
	}
	return best
}
