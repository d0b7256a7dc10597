package domain

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// The validator serves schemas of other servers. It keeps all it finds, with the
// path to it, writes numbers out, and panics where math/big refuses to. What it is
// given is bounded by what that may take: about 160,000 values, fewer if the paths
// to them are long.
const (
	maxWork      = 32 << 20
	workPerValue = 192
	maxDigits    = 1000 // of a number, and its highest exponent
)

// tooMuch returns what of v keeps the validator from being given it, or "".
func tooMuch(v any, work int) string {
	long := false // there is a number with too many digits
	var add func(v any, path int)
	add = func(v any, path int) { // path is the length of the path to v
		if work -= workPerValue + path; work < 0 {
			return
		}
		switch v := v.(type) {
		case json.Number:
			point := parseDecimal(v).point
			long = long || len(v) > maxDigits || point > maxDigits+1 || point < -maxDigits
		case []any:
			for i := 0; i < len(v) && work >= 0; i++ {
				add(v[i], path+len("/00000"))
			}
		case map[string]any:
			for name, member := range v {
				if add(member, path+len("/")+len(name)); work < 0 {
					return
				}
			}
		}
	}
	switch add(v, 0); {
	case work < 0:
		return "too many values, or names that are too long; send them in several calls"
	case long:
		return "a number with more than " + strconv.Itoa(maxDigits) + " digits or as high an exponent"
	}
	return ""
}

// explain turns err, which the validator returned for args, into sentences a model
// can act on: the first [maxProblems] in order.
func explain(err error, args map[string]any) error {
	violated, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	var found []InvalidField
	var add func(e *jsonschema.ValidationError)
	add = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			add(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		f := invalidField(fieldAt(e.InstanceLocation, args), "is wrong: "+e.Message)
		if f.Field == "" {
			f = invalidField("", "the arguments are wrong: "+e.Message)
		}
		if at, twice := slices.BinarySearchFunc(found, f, compareFields); !twice && at < maxProblems {
			found = slices.Insert(found, at, f)
			found = found[:min(len(found), maxProblems)]
		}
	}
	add(violated)
	return &InvalidArguments{found}
}

// fieldAt returns the path of a value as messages have it. The validator's own is
// a JSON pointer, whose names are escaped for a URL as well.
func fieldAt(pointer string, v any) (at string) {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch container := v.(type) {
		case map[string]any:
			if plain, err := url.PathUnescape(name); err == nil {
				name = plain
			}
			name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
			at, v = join(at, ClipName(name)), container[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(container) {
				return at
			}
			at, v = join(at, "["+name+"]"), container[i]
		}
	}
	return at
}
