package files

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"toolserver/domain"
	"toolserver/sandbox/pathguard"
)

// failure returns what a tool answers when its guard refuses or fails. It is the
// one place where the kinds of the guard's errors become error types. What is
// not an error of the guard is returned as it is: the tool broke, or its
// context ended.
func (s *toolset) failure(tool, path string, err error) (domain.ToolResult, error) {
	refusal, ok := errors.AsType[*pathguard.Error](err)
	if !ok {
		return domain.ToolResult{}, err
	}
	message := refusal.Error()
	switch refusal.Kind {
	case pathguard.KindDenied:
		return domain.Failure("denied", message, deniedHint(refusal)), nil
	case pathguard.KindNotFound:
		return s.missing(tool, path, message), nil
	case pathguard.KindNotAFile:
		if hint := s.kindHint(path); hint != "" {
			return domain.Failure("not_a_file", message+"; call "+hint, "Call "+hint+" for what is in it."), nil
		}
		return domain.Failure("not_a_file", message, "Only regular files have content to work with; choose another path."), nil
	case pathguard.KindNotADirectory:
		if hint := s.kindHint(path); hint != "" {
			return domain.Failure("not_a_directory", message+"; call "+hint, "Call "+hint+" for its content."), nil
		}
		return domain.Failure("not_a_directory", message, "Call "+call("list_directory", parent(path))+" for what is there."), nil
	case pathguard.KindExists:
		return domain.Failure("already_exists", message, "Choose another path, or allow the file to be overwritten."), nil
	case pathguard.KindTooLarge:
		return domain.Failure("too_large", message, "Write less at a time."), nil
	case pathguard.KindInvalidPath:
		return domain.Failure("invalid_path", message, "Correct the path."), nil
	}
	return domain.Failure("io_error", message, "Try again, choose another path, or tell the operator."), nil
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

// kindHint returns the call that is right for what is at path, or "".
func (s *toolset) kindHint(path string) string {
	info, err := s.listed.Stat(path)
	switch {
	case err != nil:
		return ""
	case info.Mode.IsDir():
		return call("list_directory", path)
	case info.Mode.IsRegular():
		return call("read_file", path)
	}
	return ""
}

// call returns the literal call of a tool with a path.
func call(tool, path string) string { return fmt.Sprintf("%s(path=%q)", tool, path) }

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
