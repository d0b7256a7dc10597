package domain

import (
	"encoding/json"
	"errors"
	"iter"
	"math"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// The validator serves schemas that others wrote. It goes on after a breach and
// keeps what it finds, with the path to it, for each one; it writes numbers out,
// and panics where math/big refuses to. What it is given is bounded by what that may take: about 160,000 values,
// fewer if the paths to them are long.
const (
	maxWork      = 32 << 20
	workPerValue = 192
	maxDigits    = 1000 // of a number, and its highest exponent
)

// workload adds up what validating a value may take.
type workload struct {
	left int
	long bool // there is a number with too many digits
}

// tooMuch returns why v is not given to the validator, or "".
func tooMuch(v any) string {
	w := workload{left: maxWork}
	switch w.add(v, 0); {
	case w.left < 0:
		return "the arguments hold too many values, or names that are too long; send them in several calls"
	case w.long:
		return "the arguments hold a number with more than " + strconv.Itoa(maxDigits) + " digits or as high an exponent"
	}
	return ""
}

// longNumber reports whether the validator would take long over a number in v, or
// panic.
func longNumber(v any) bool {
	w := workload{left: math.MaxInt}
	w.add(v, 0)
	return w.long
}

// add counts v, which a path of that many bytes leads to.
func (w *workload) add(v any, path int) {
	if w.left -= workPerValue + path; w.left < 0 {
		return
	}
	switch v := v.(type) {
	case json.Number:
		point := parseDecimal(v).point
		w.long = w.long || len(v) > maxDigits || point > maxDigits+1 || point < -maxDigits
	case []any:
		for _, element := range v {
			if w.add(element, path+len("/00000")); w.left < 0 {
				return
			}
		}
	case map[string]any:
		for name, member := range v {
			if w.add(member, path+len("/")+len(name)); w.left < 0 {
				return
			}
		}
	}
}

// explain turns err, the validator's verdict on args, into sentences a model
// can act on: the first [maxProblems] of them in order, whatever order the
// validator has met them in.
func explain(err error, args map[string]any, root *Param) error {
	verdict, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	var found []InvalidField
	for leaf := range leaves(verdict) {
		for _, f := range problems(leaf, args, root) {
			at, twice := slices.BinarySearchFunc(found, f, compareFields)
			if twice || at == maxProblems {
				continue
			}
			found = slices.Insert(found, at, f)
			found = found[:min(len(found), maxProblems)]
		}
	}
	return &InvalidArguments{found}
}

// leaves yields the innermost causes of a verdict: those that name a field.
func leaves(e *jsonschema.ValidationError) iter.Seq[*jsonschema.ValidationError] {
	return func(yield func(*jsonschema.ValidationError) bool) { walkLeaves(e, yield) }
}

func walkLeaves(e *jsonschema.ValidationError, yield func(*jsonschema.ValidationError) bool) bool {
	if len(e.Causes) == 0 {
		return yield(e)
	}
	return !slices.ContainsFunc(e.Causes, func(cause *jsonschema.ValidationError) bool { return !walkLeaves(cause, yield) })
}

// problems describes one leaf: what its keyword asks for, and what is there.
func problems(leaf *jsonschema.ValidationError, args map[string]any, root *Param) []InvalidField {
	at, value, p := locate(leaf.InstanceLocation, args, root)
	object, isObject := value.(map[string]any)
	switch keyword := path.Base(leaf.KeywordLocation); {
	case p == nil:
	case keyword == "required" && isObject:
		if list := missing(at, object, p); list != nil {
			return list
		}
	case keyword == "additionalProperties" && isObject:
		return unknown(at, object, p.fieldNames(), maxProblems)
	default:
		if s := violation(keyword, value, p); s != "" {
			return []InvalidField{invalidField(at, s)}
		}
	}
	if at == "" {
		return []InvalidField{invalidField(at, "the arguments are wrong: "+leaf.Message)}
	}
	return []InvalidField{invalidField(at, "is wrong: "+leaf.Message)}
}

// locate follows the validator's JSON pointer through the arguments and their
// schema. It returns nils where it cannot follow. The validator escapes names
// for a pointer, and then for a URL.
func locate(pointer string, v any, p *Param) (at string, _ any, _ *Param) {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if name == "" {
			continue
		}
		switch container := v.(type) {
		case map[string]any:
			if plain, err := url.PathUnescape(name); err == nil {
				name = plain
			}
			name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
			at, v = join(at, ClipName(name)), container[name]
			if p != nil {
				p, _ = p.field(name)
			}
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(container) {
				return at, nil, nil
			}
			at, v = join(at, "["+name+"]"), container[i]
			if p != nil {
				p = p.Items
			}
		}
	}
	return at, v, p
}
