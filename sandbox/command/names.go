package command

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// A program that is not known may open whatever its words name, so that a word which is, as a path,
// protected or denied is refused wherever it stands. What is left out are the places where words are text
// for certain: those of [spec]'s t and l, patterns, messages, and what a program is told to leave alone.

// named checks the words of a program that s describes, which is nil for one that is not known. Those
// that belong to another program are left to that.
func (f *files) named(sh *shell, s *spec, in *invocation, args []arg) {
	if s.is("t", "l", "@test", "@find", "+") && !in.gives("n") || s != nil && (in.gives("t") || s.quiet && in.quiet()) {
		return
	}
	write := !s.is(".", "r", "y", "sed", "N") || in.gives("I")
	data, code := in.told(s)
	for i, a := range args {
		option, value, _ := strings.Cut(a.s, "=")
		before := ""
		switch {
		case !strings.HasPrefix(option, "-"):
			if option = ""; i > 0 && strings.HasPrefix(args[i-1].s, "-") {
				before = strings.TrimLeft(args[i-1].s, "-")
			}
		case strings.HasPrefix(option, "--"):
			option = option[2:]
		case len(a.s) > 2:
			option, value = option[1:], a.s[2:]
		}
		switch {
		case slices.Contains(data, a.s), option != "" && slices.Contains(data, value), s == nil && (textOption(before) || textOption(option)):
		case s.has("!"), s.has("@make") && value != "", slices.Contains(code, a.s), option != "" && slices.Contains(code, value),
			s == nil && (isListed("code options", before, a) || value != "" && isListed("code options", option, a)):
			f.spelled(sh, a.s, "the code given to a program")
			if option != "" {
				f.name(sh, a.s, write, "a word of the command")
			}
		default:
			f.name(sh, a.s, write, "a word of the command")
		}
	}
}

// gives reports whether an option of this kind was given.
func (in *invocation) gives(kind string) bool {
	return in != nil && slices.ContainsFunc(in.opts, func(o optArg) bool { return o.option != nil && o.kind == kind })
}

// quiet reports whether all options are known to do nothing.
func (in *invocation) quiet() bool {
	return in.doubt.s == "" && !slices.ContainsFunc(in.opts, func(o optArg) bool { return o.option == nil || o.kind != "" && o.kind != "." })
}

// has reports whether an operand of the program is of this kind.
func (s *spec) has(kind string) bool {
	return s != nil && slices.ContainsFunc(s.operands, func(op operand) bool { return op.kind == kind })
}

// is reports whether all operands of the program are of these kinds.
func (s *spec) is(kinds ...string) bool {
	return s != nil && len(s.operands) > 0 && !slices.ContainsFunc(s.operands, func(op operand) bool {
		kind, _ := strings.CutSuffix(op.kind, "*")
		return !slices.Contains(kinds, kind) || op.kind == ".*"
	})
}

// told returns the words that are data by their place, and those that are code.
func (in *invocation) told(s *spec) (data, code []string) {
	if s == nil {
		return nil, nil
	}
	drop := false
	for _, o := range in.opts {
		switch {
		case o.option == nil:
		case strings.Contains(" p sed awk ", " "+o.kind+" "):
			data, drop = append(data, o.value.s), true
		case o.kind == "P":
			drop = true
		case (o.kind == "." || o.kind == "y") && slices.ContainsFunc(o.names, func(name string) bool { return isListed("text options", name, unknown) }):
			data = append(data, o.value.s)
		case o.kind == "G": // checked by its effect
			data = append(data, o.value.s)
		case o.kind == "m" && o.value.is("venv"): // a directory
			for _, a := range in.raw {
				if filepath.Base(a.s) == ".env" {
					data = append(data, a.s)
				}
			}
		case o.kind == "i" || o.kind == "!":
			code = append(code, o.value.s)
		}
	}
	if first := s.operands; !drop && len(first) > 0 && len(in.operands) > 0 && slices.Contains([]string{".", "sed", "awk"}, first[0].kind) {
		data = append(data, in.operands[0].s)
	}
	if len(in.rest) > 0 {
		code = append(code, in.rest[0].s)
	}
	return data, code
}

// textOption is about an option of a program that is not known.
func textOption(name string) bool {
	return (len(name) > 1 || name == "m") && isListed("text options", name, unknown)
}

// name checks what a word may stand for as a path: the word, what follows an option of one letter, and
// the parts between = : @ and the like. Text with spaces in it counts only if there is such a file.
func (f *files) name(sh *shell, word string, write bool, what string) {
	if _, path, ok := strings.Cut(word, "file://"); ok {
		word = path
		if plain, err := url.PathUnescape(path); err == nil {
			word = plain
		}
	} else if strings.Contains(word, "://") || strings.HasPrefix(word, "!") || strings.HasPrefix(word, ":!") || strings.HasPrefix(word, ":^") || strings.HasPrefix(word, ":(exclude") {
		return
	}
	f.candidate(sh, word, write, what)
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(`=:@,;<>()|'"`, r) }) {
		if f.candidate(sh, part, write, what); len(part) > 2 && part[0] == '-' {
			f.candidate(sh, part[2:], write, what)
			f.candidate(sh, strings.TrimLeft(part, "-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), write, what)
		}
	}
}

// spelled checks every name in text that is code.
func (f *files) spelled(sh *shell, code, what string) {
	inName := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0x7f || strings.ContainsRune("._/~+%-", r)
	}
	for rest, before := code, byte(0); rest != ""; {
		n := strings.IndexFunc(rest, func(r rune) bool { return !inName(r) })
		if n < 0 {
			n = len(rest)
		}
		if !strings.ContainsRune(")]}", rune(before)) || before == 0 { // there it is a member of something
			f.candidate(sh, rest[:n], true, what)
		}
		if rest = rest[n:]; rest != "" {
			before, rest = rest[0], rest[1:]
		}
	}
	if decoded := codeEscapes().ReplaceAllStringFunc(code, unescape); decoded != code {
		f.spelled(sh, decoded, what)
	}
}

// codeEscapes matches characters in strings of most languages.
var codeEscapes = lazyregexp.New(`\\(?:x[0-7][0-9a-fA-F]|x\{[0-7][0-9a-fA-F]\}|u00[0-7][0-9a-fA-F]|[01][0-7][0-7])`)

func (f *files) candidate(sh *shell, path string, write bool, what string) {
	if strings.HasPrefix(path, "~/") {
		path = f.p.Home + path[1:]
	}
	if len(path) < 2 || path[0] == '-' || f.refused || f.p.Paths.Forbidden == nil {
		return
	}
	for _, full := range f.places(sh, path) {
		if markAt(path) < 0 && strings.ContainsAny(path, " \t\n") {
			if _, err := os.Lstat(full); err != nil {
				continue
			}
		}
		f.forbidden(full, false, false, what+" names")
		if write {
			f.forbidden(full, true, false, what+" names")
		}
	}
}

// places returns the absolute paths that path may be, which are several where its lines are known one by one. In a
// directory that is not known it is taken to be the one of the request.
func (f *files) places(sh *shell, path string) (all []string) {
	dirs := sh.dirs
	if dirs == nil {
		dirs = []string{f.dir}
	}
	if markAt(path) < 0 {
		return joined(dirs, path)
	}
	for line := range strings.SplitSeq(path, "\n") {
		all = append(all, joined(dirs, line)...)
	}
	return all
}

// forbidden refuses a path that no command may name. Strict is about all that its wildcards can mean.
func (f *files) forbidden(path string, write, strict bool, what string) {
	if f.p.Paths.Forbidden == nil || f.refused {
		return
	}
	question := asked{show(path), write, strict}
	if f.asked[question] {
		return
	}
	f.asked[question] = true
	if rule, reason := f.p.Paths.Forbidden(filepath.Clean(question.path), write, strict); rule != "" {
		f.deny(rule, what+" "+question.path+", which "+reason, "")
	}
}

// asked is a question that was put to [Paths.Forbidden].
type asked struct {
	path          string
	write, strict bool
}
