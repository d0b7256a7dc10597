package command

import (
	"slices"
	"strings"
)

// invocation is an argument list taken apart.
type invocation struct {
	spec     *spec
	opts     []optArg
	operands []arg
	// rest starts at the operand where another command begins.
	rest []arg
	// raw is the whole list.
	raw []arg
	// stopped: an option made all that follows belong to what it names.
	stopped bool
	// ended: a -- came before the operands.
	ended bool
	// doubt is an argument that may be an option or not.
	doubt arg
}

// optArg is an option that was given. Its name is as written, without dashes;
// dashes are those.
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

// takeApart splits args into options and operands. Where the operands hold
// another command, it stops there.
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
		case in.ended || a.s == "-" || a.s == "" || !a.maybeOption():
			if own >= 0 && len(in.operands) >= own && !s.assigns(a) {
				in.rest = args[i:]
				return in
			}
			in.operands = append(in.operands, a)
			in.ended = in.ended || s.ordered && !a.many
		case a.s[0] != '-':
			in.doubts(a)
			if own >= 0 && len(in.operands) >= own {
				in.rest = args[i:]
				return in
			}
			in.operands = append(in.operands, a)
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

// ownOperands returns how many operands come before another command or script
// starts, or -1 if none does.
func (s *spec) ownOperands() int {
	n := 0
	for _, op := range s.operands {
		switch op.kind {
		case "x", "X", "s", "f", "c*":
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

// assigns reports whether a is an assignment that the program takes.
func (s *spec) assigns(a arg) bool { return s.assignsFirst() && strings.Contains(a.s, "=") }

// long takes a long option and returns how many further arguments it used.
func (in *invocation) long(args []arg, i int) int {
	name, value, glued := strings.Cut(strings.TrimLeft(args[i].s, "-"), "=")
	o := in.spec.lookup(name, true)
	if o == nil && len(name) > 1 && in.spec.oneDash && !strings.HasPrefix(args[i].s, "--") {
		if o = in.spec.lookup(name[:1], false); o != nil && (o.takes == 0 || o.kind == "q" || len(o.names) > 1) {
			o = nil // not a glued one-letter option
		} else if o != nil {
			in.opts = append(in.opts, optArg{option: o, name: name[:1], dashes: "-", value: text(name[1:]), has: true})
			return 0
		}
	}
	opt := optArg{option: o, name: name, dashes: args[i].s[:len(args[i].s)-len(strings.TrimLeft(args[i].s, "-"))], value: arg{s: value, many: args[i].many}, has: glued}
	used := 0
	in.stopped = o != nil && o.takes == '>'
	if o != nil && (o.takes == '=' || in.stopped) && !glued && i+1 < len(args) {
		opt.value, opt.has = args[i+1], true
		used = 1
		if opt.value.many { // it may be no word at all
			in.doubts(opt.value)
		}
	}
	if markAt(name) >= 0 {
		in.doubts(args[i])
	}
	in.opts = append(in.opts, opt)
	return used
}

// cluster takes short options that share a dash.
func (in *invocation) cluster(args []arg, i int) int {
	s := args[i].s
	for j := 1; j < len(s); j++ {
		if marker(s[j]) {
			if s[j] != aNumber {
				in.doubts(args[i])
			}
			return 0
		}
		name := s[j : j+1]
		o := in.spec.lookup(name, false)
		opt := optArg{option: o, name: name, dashes: "-"}
		if o == nil || o.takes == 0 {
			in.opts = append(in.opts, opt)
			continue
		}
		used := 0
		in.stopped = o.takes == '>'
		if j+1 < len(s) {
			opt.value, opt.has = arg{s: s[j+1:], many: args[i].many}, true
		} else if o.takes != '?' && i+1 < len(args) {
			opt.value, opt.has = args[i+1], true
			used = 1
			if opt.value.many { // it may be no word at all
				in.doubts(opt.value)
			}
		}
		in.opts = append(in.opts, opt)
		return used
	}
	return 0
}

// doubts notes an argument that may be an option or not.
func (in *invocation) doubts(a arg) {
	if in.doubt.s == "" {
		in.doubt = a
	}
}

// oldCluster takes tar's first word, whose letters use the words after it.
func (in *invocation) oldCluster(args []arg) []arg {
	letters := args[0].s
	args = args[1:]
	for i := 0; i < len(letters); i++ {
		opt := optArg{option: in.spec.lookup(letters[i:i+1], false), name: letters[i : i+1]}
		if opt.option != nil && opt.takes == '=' && len(args) > 0 {
			opt.value, opt.has = args[0], true
			args = args[1:]
		}
		in.opts = append(in.opts, opt)
	}
	return args
}
