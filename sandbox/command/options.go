package command

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// invocation is an argument list, split into options and operands.
type invocation struct {
	spec     *spec
	raw      []arg // the whole list
	opts     []optArg
	operands []arg
	rest     []arg // from the operand on where another command begins
	stopped  bool  // an option made all that follows belong to what it names
	ended    bool  // a -- came before the operands
	doubt    arg   // that may be an option or not
}

// optArg is an option that was given. Its name is as written, without dashes; dashes are those.
type optArg struct {
	*option
	name   string
	dashes string
	value  arg
	has    bool
}

// given reports whether one of the options was given.
func (in *invocation) given(names ...string) bool {
	_, ok := in.option(names...)
	return ok
}

// option returns the last of the options with one of these names.
func (in *invocation) option(names ...string) (o optArg, ok bool) {
	for _, opt := range slices.Backward(in.opts) {
		if slices.ContainsFunc(names, func(n string) bool { return opt.name == n || opt.option != nil && slices.Contains(opt.names, n) }) {
			return opt, true
		}
	}
	return o, false
}

// takeApart splits args into options and operands. Where the operands hold another command, it stops there.
func (s *spec) takeApart(args []arg) *invocation {
	in := &invocation{spec: s, raw: args}
	own := s.ownOperands()
	if s.old && len(args) > 0 && args[0].exact() && !strings.HasPrefix(args[0].s, "-") {
		args = in.oldCluster(args)
	}
	for i := 0; i < len(args) && !in.stopped; i++ {
		a := args[i]
		switch {
		case a.is("-") && s.assignsFirst() && len(in.operands) == 0:
			// A mere - is -i to env(1).
		case own >= 0 && a.many && len(in.operands) < own:
			in.doubt = a
			in.operands = append(in.operands, a)
		case in.ended || a.s == "" || a.s == "-" || a.s[0] != '-':
			known := in.ended || a.s == "-" || !a.maybeOption()
			if !known {
				in.doubt = cmp.Or(in.doubt, a)
			}
			if own >= 0 && len(in.operands) >= own && !(known && s.assignsFirst() && strings.Contains(a.s, "=")) {
				in.rest = args[i:]
				return in
			}
			in.operands = append(in.operands, a)
			in.ended = in.ended || known && s.ordered && !a.many
		case a.is("--"):
			in.ended = true
		case strings.HasPrefix(a.s, "--") || s.oneDash:
			i += in.long(args, i)
		default:
			i += in.cluster(args, i)
		}
	}
	return in
}

// ownOperands returns how many operands come before another command or script starts, or -1 if none does.
func (s *spec) ownOperands() int {
	n := 0
	for _, op := range s.operands {
		switch op.kind {
		case "x", "X", "s", "f", "c*", "@xargs":
			return n
		case "=", "<":
		default:
			n++
		}
	}
	if s.sub {
		return 0
	}
	return -1
}

// assignsFirst reports whether the program takes assignments (env).
func (s *spec) assignsFirst() bool { return len(s.operands) > 0 && s.operands[0].kind == "=" }

// long takes a long option and returns how many further arguments it used.
func (in *invocation) long(args []arg, i int) int {
	bare := strings.TrimLeft(args[i].s, "-")
	dashes := args[i].s[:len(args[i].s)-len(bare)]
	name, value, glued := strings.Cut(bare, "=")
	if markAt(name) >= 0 {
		in.doubt = cmp.Or(in.doubt, args[i])
	}
	o := in.spec.lookup(name, true)
	if o == nil && len(name) > 1 && in.spec.oneDash && dashes == "-" {
		one := in.spec.lookup(name[:1], false)
		if one != nil && one.takes != 0 && one.kind != "q" && len(one.names) == 1 { // -Ofile
			return in.add(optArg{one, name[:1], dashes, text(name[1:]), true}, nil)
		}
	}
	return in.add(optArg{o, name, dashes, arg{s: value, many: args[i].many}, glued}, args[i+1:])
}

// cluster takes short options that share a dash.
func (in *invocation) cluster(args []arg, i int) int {
	s := args[i].s
	for j := 1; j < len(s); j++ {
		if marker(s[j]) {
			if s[j] != aNumber {
				in.doubt = cmp.Or(in.doubt, args[i])
			}
			return 0
		}
		opt := optArg{option: in.spec.lookup(s[j:j+1], false), name: s[j : j+1], dashes: "-"}
		if opt.option != nil && opt.takes != 0 {
			opt.value, opt.has = arg{s: s[j+1:], many: args[i].many}, j+1 < len(s)
			return in.add(opt, args[i+1:])
		}
		in.add(opt, nil)
	}
	return 0
}

// add notes an option. If it takes an argument and has none, that is the first
// of next. It returns how many of them it used.
func (in *invocation) add(o optArg, next []arg) (used int) {
	in.stopped = o.option != nil && o.takes == '>'
	if o.option != nil && (o.takes == '=' || in.stopped) && !o.has && len(next) > 0 {
		o.value, o.has, used = next[0], true, 1
		if o.value.many { // it may be no word at all
			in.doubt = cmp.Or(in.doubt, o.value)
		}
	}
	in.opts = append(in.opts, o)
	return used
}

// oldCluster takes tar's first word, whose letters use the words after it.
func (in *invocation) oldCluster(args []arg) []arg {
	letters, args := args[0].s, args[1:]
	for i := range len(letters) {
		used := in.add(optArg{option: in.spec.lookup(letters[i:i+1], false), name: letters[i : i+1]}, args)
		args = args[used:]
	}
	return args
}

// gives reports whether an option of this kind was given.
func (in *invocation) gives(kind string) bool {
	return in != nil && slices.ContainsFunc(in.opts, func(o optArg) bool { return o.option != nil && o.kind == kind })
}

// quiet reports whether all options are known to do nothing.
func (in *invocation) quiet() bool {
	return in.doubt.s == "" && !slices.ContainsFunc(in.opts, func(o optArg) bool { return o.option == nil || o.kind != "" && o.kind != "." })
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
