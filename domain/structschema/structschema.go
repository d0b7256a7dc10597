// Package structschema describes Go structs by the tags of their fields, and
// writes the description as JSON Schema. Arguments of tools, their results and
// the configuration file all follow from such structs.
//
// A field is named by its json or yaml tag, whichever [Describe] is given; "-"
// leaves it out. The further tags are the same for both:
//
//	doc        what the field means, in one sentence
//	default    the value of an absent argument, as JSON or, of a string, as it is
//	enum       the allowed strings, separated by |
//	min, max   bounds of a number, duration or size (such as "1s" or "1KiB"), or
//	           of the length of a string, list or map
//	pattern    regular expression a string must match
//	format     name of a notation that the owner of the configuration checks
//	keys       the same for the keys of a map
//	required   "true": the schema of a configuration requires the key in its section
//	secret     "true": the value is masked wherever it is shown
//	path       "true": the text is a file name; "relative": it may stay relative
//	short      "true": a value of this field stands for a struct that has no
//	           more than it; "alone": it stands instead of the other fields
//	also       other names that people and models give the field, with spaces between
//	           them: a configuration is refused, arguments are accepted
//	near       names of what is not quite the field, which are refused
//	hint       what to say to those who use them, after the name of the field
//	list       "true" on a string of arguments that has several values with commas: a
//	           list of them stands for it
//	one        "true" on a list: a value alone stands for a list of it
//	example    a value that a template shows instead of the default, as YAML in a line
//	template   "-" on an inline struct: others have its keys, too, and a template describes
//	           them once; "-" on a field: a template leaves it out
//
// On a list or map the tags enum, pattern, format, secret and path apply to its
// elements. A text can say instead of the tags what a field means, see [Described].
// ",inline" lifts the fields of a struct into its parent, and makes a map take all
// keys that are no fields. ",omitempty", a default or a pointer make a field
// optional.
package structschema

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain/nearest"
)

// Kind says what a value is, for people who write it.
type Kind int

// The kinds of values.
const (
	String Kind = iota
	Bool
	Int // also unsigned
	Float
	Duration
	Size // [Bytes]
	Text // implements [encoding.TextUnmarshaler]
	Any  // an interface
	Pointer
	List
	Map
	Struct
)

// kinds says of each kind what a message calls a value and what its bounds count, and its JSON type.
var kinds = [...]struct{ looks, counted, json string }{
	String:   {"text", "characters", "string"},
	Bool:     {"true or false", "", "boolean"},
	Int:      {"a whole number", "", "integer"},
	Float:    {"a number", "", "number"},
	Duration: {"a number of seconds or a duration such as 30s", "", "integer"},
	Size:     {"a number of bytes or a size such as 10MiB", "", "integer"},
	Text:     {"a single value", "", "string"},
	List:     {"a list such as [a, b]", "items", "array"},
	Map:      {"a mapping of keys to values", "keys", "object"},
	Struct:   {"a mapping of keys to values", "", "object"},
}

// String says what a value looks like, in words that follow "must be".
func (k Kind) String() string { return kinds[k].looks }

// Counted returns what the bounds of a value count; nothing for a number.
func (k Kind) Counted() string { return kinds[k].counted }

// Type is a Go type with what its tags say.
type Type struct {
	Kind   Kind
	Go     reflect.Type
	Elem   *Type   // of a pointer, list or map
	Fields []Field // of a struct, with inline ones lifted
	Rest   *Field  // the inline map of a struct
	Short  *Field  // whose value alone stands for the struct; nil if none does
	Alone  bool    // Short is not among Fields
}

// Field is a field of a struct.
type Field struct {
	Name, Doc string
	Index     []int
	Type      *Type
	Optional  bool
	Default   *string // its tag; nil without one
	Elsewhere bool    // others have it, too: a template describes it once
	Hidden    bool    // a template leaves it out
	Required  bool    // in the schema of a configuration
	Example   string  // a value for a template, as YAML in a line
	Also      []string
	Near      []string
	Hint      string // for those who call it otherwise
	List      bool   // of several values with commas
	Rules
}

// Rules are what the tags of a field ask of its value.
type Rules struct {
	Enum         []string
	Pattern      string
	Format       string
	KeyFormat    string // of the keys of a map
	Min, Max     *Bound
	Secret, Path bool
	Relative     bool // the path stays relative if it is
	One          bool // a value alone stands for a list of it
	Element      bool // of a list or map, rather than a field
}

// Bound is one end of a range.
type Bound struct {
	Text string  // as in the tag
	N    float64 // nanoseconds of a duration, bytes of a size
}

// Types describes types and keeps the descriptions.
type Types struct {
	tag   string
	known map[reflect.Type]*Type
	text  string // see [Described]
}

// Described is a struct that has a text say what its fields mean, and those of the structs in it,
// instead of their tags doc, also, near, hint and example. The text has a section for each type, which
// is called tool if the type has no name, and ends with an empty line. Lines after a field are its other
// tags, and lines that are indented more go on with the one before:
//
//	[config.Server]
//	http: Address to serve HTTP on.
//	  also port host
type Described interface{ Words() string }

// NewTypes returns a Types for which fields are named by a tag, json or yaml, and described by the
// text of the root, if it is [Described].
func NewTypes(tag string, root reflect.Type) *Types {
	all := &Types{tag: tag, known: map[reflect.Type]*Type{}}
	if described, ok := reflect.Zero(root).Interface().(Described); ok {
		all.text = described.Words()
	}
	return all
}

// section returns what the text says of the fields of a type, by field and tag: "http.also".
func (all *Types) section(t reflect.Type) map[string]string {
	name := t.String()
	if t.Name() == "" {
		name = "tool"
	}
	said, field, key := map[string]string{}, "", ""
	_, text, _ := strings.Cut(all.text, "["+name+"]\n")
	for line := range strings.Lines(text) {
		words := strings.TrimSpace(line)
		switch {
		case words == "":
			return said
		case strings.HasPrefix(line, "    "):
			words = said[key] + " " + words
		case strings.HasPrefix(line, "  "):
			key, words, _ = strings.Cut(words, " ")
			key = field + "." + key
		default:
			field, words, _ = strings.Cut(words, ":")
			key, words = field+".doc", strings.TrimSpace(words)
		}
		said[key] = words
	}
	return said
}

// Describe describes a type. It panics on one that has no description: that is
// a mistake of the program, whatever its input.
func Describe(tag string, t reflect.Type) *Type { return NewTypes(tag, t).Of(t) }

// Of is [Describe].
func (all *Types) Of(t reflect.Type) *Type {
	if d, ok := all.known[t]; ok {
		if d == nil {
			panic(fmt.Sprintf("%v contains itself", t))
		}
		return d
	}
	all.known[t] = nil
	d := &Type{Go: t}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		d.Kind = Duration
	case t == reflect.TypeFor[Bytes]():
		d.Kind = Size
	case t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		d.Kind = Text
	default:
		all.derive(d)
	}
	all.known[t] = d
	return d
}

// derive completes d from the Go kind of its type.
func (all *Types) derive(d *Type) {
	switch t := d.Go; t.Kind() {
	case reflect.String:
		d.Kind = String
	case reflect.Bool:
		d.Kind = Bool
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		d.Kind = Int
	case reflect.Float64:
		d.Kind = Float
	case reflect.Interface:
		d.Kind = Any
	case reflect.Pointer:
		d.Kind, d.Elem = Pointer, all.Of(t.Elem())
	case reflect.Slice:
		d.Kind, d.Elem = List, all.Of(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("the keys of %v are not strings", t))
		}
		d.Kind, d.Elem = Map, all.Of(t.Elem())
	case reflect.Struct:
		d.Kind = Struct
		all.addFields(d, t, nil, false)
	default:
		panic(fmt.Sprintf("%v has no JSON Schema", t))
	}
}

// addFields adds the fields of t, which lies at index in d.
func (all *Types) addFields(d *Type, t reflect.Type, index []int, elsewhere bool) {
	said := all.section(t)
	for i := range t.NumField() {
		f, at := t.Field(i), append(slices.Clone(index), i)
		name, options, _ := strings.Cut(f.Tag.Get(all.tag), ",")
		inline := strings.Contains(options, "inline")
		switch {
		case name == "-":
			continue
		case inline && f.Type.Kind() == reflect.Struct:
			all.addFields(d, f.Type, at, elsewhere || f.Tag.Get("template") == "-")
			continue
		case inline && (f.Type.Kind() != reflect.Map || d.Rest != nil):
			panic(fmt.Sprintf("%v.%s cannot be inline", t, f.Name))
		case !inline && (name == "" || !f.IsExported()):
			panic(fmt.Sprintf("%v.%s has no %s name", t, f.Name, all.tag))
		case d.Field(name) != nil:
			panic(fmt.Sprintf("%v has %q twice", d.Go, name))
		}
		words := func(key string) string {
			if text, ok := said[name+"."+key]; ok && f.Tag.Get(key) == "" {
				delete(said, name+"."+key)
				return text
			}
			return f.Tag.Get(key)
		}
		one := Field{
			Name: name, Doc: words("doc"), Index: at, Type: all.Of(f.Type), Elsewhere: elsewhere, Hidden: f.Tag.Get("template") == "-",
			Required: f.Tag.Get("required") == "true", List: f.Tag.Get("list") == "true",
			Also: strings.Fields(words("also")), Near: strings.Fields(words("near")), Hint: words("hint"), Example: words("example"),
		}
		if text, ok := f.Tag.Lookup("default"); ok {
			one.Default = &text
		}
		one.Optional = one.Default != nil || strings.Contains(options, "omitempty") || one.Type.Kind == Pointer
		one.Rules = rulesOf(fmt.Sprintf("%v.%s", t, f.Name), f.Tag, one.Type)
		switch {
		case inline:
			d.Rest = &one
			continue
		case f.Tag.Get("short") == "alone":
			d.Short, d.Alone = &one, true
			continue
		case f.Tag.Get("short") == "true":
			d.Short = &one
		}
		d.Fields = append(d.Fields, one)
	}
	if len(said) > 0 && t.Name() != "" { // a tool has not all that tools may have
		panic(fmt.Sprintf("%v: the text says what no field, or a tag, has: %v", t, said))
	}
}

// rulesOf reads the tags of the field called name. It panics on tags that do
// not fit the type.
func rulesOf(name string, tag reflect.StructTag, t *Type) Rules {
	r := Rules{
		Pattern: tag.Get("pattern"), Format: tag.Get("format"), KeyFormat: tag.Get("keys"), One: tag.Get("one") == "true",
		Secret: tag.Get("secret") == "true", Path: tag.Get("path") != "", Relative: tag.Get("path") == "relative",
	}
	if enum, ok := tag.Lookup("enum"); ok {
		r.Enum = strings.Split(enum, "|")
	}
	if r.One && t.Kind != List {
		panic(name + ": the tag one is for lists")
	}
	if leaf := t.Leaf(); (r.Enum != nil || r.Path || r.Pattern != "") && leaf.Kind != String {
		panic(name + ": the tags enum, pattern and path are for strings")
	}
	bound := func(key string) *Bound {
		text, ok := tag.Lookup(key)
		if !ok {
			return nil
		}
		n, err := t.number(text)
		if err != nil {
			panic(fmt.Sprintf("%s: the tag %s:%q does not fit its type", name, key, text))
		}
		return &Bound{text, n}
	}
	r.Min, r.Max = bound("min"), bound("max")
	return r
}

// number reads a bound of the type.
func (t *Type) number(text string) (float64, error) {
	switch t.Kind {
	case Pointer:
		return t.Elem.number(text)
	case Duration:
		d, err := ParseDuration(text)
		return float64(d), err
	case Size:
		n, err := ParseBytes(text)
		return float64(n), err
	case Float:
		return strconv.ParseFloat(text, 64)
	case Int, String, List, Map:
		n, err := strconv.ParseInt(text, 10, 64)
		return float64(n), err
	}
	return 0, fmt.Errorf("%v has no bounds", t.Go)
}

// Field returns the field called name, or nil.
func (t *Type) Field(name string) *Field {
	if i := slices.IndexFunc(t.Fields, func(f Field) bool { return f.Name == name }); i >= 0 {
		return &t.Fields[i]
	}
	return nil
}

// Named returns the names of the fields of a struct.
func (t *Type) Named() []nearest.Named {
	all := make([]nearest.Named, len(t.Fields))
	for i, f := range t.Fields {
		all[i] = nearest.Named{Name: f.Name, Also: slices.Concat(f.Also, f.Near), Hint: f.Hint}
	}
	return all
}

// Leaf returns the type below pointers, lists and maps.
func (t *Type) Leaf() *Type {
	for t.Elem != nil {
		t = t.Elem
	}
	return t
}

// Elements are the rules that a list or map passes on to its elements.
func (r Rules) Elements() Rules {
	r.Min, r.Max, r.One, r.KeyFormat, r.Element = nil, nil, false, "", true
	return r
}

// Limits puts the bounds in words that follow "must be"; it is empty without
// any.
func (r Rules) Limits() string {
	switch {
	case r.Min != nil && r.Max != nil:
		return "from " + r.Min.Text + " to " + r.Max.Text
	case r.Min != nil:
		return "at least " + r.Min.Text
	case r.Max != nil:
		return "at most " + r.Max.Text
	}
	return ""
}

// Allows reports whether v, a value of type t, obeys the rules.
func (r Rules) Allows(t *Type, v reflect.Value) bool { return r.Problem(t, v, "") == "" }

// Problem says how v, a value of type t that a message shows so, breaks the rules, in words that follow
// its name. It is empty if v obeys them.
func (r Rules) Problem(t *Type, v reflect.Value, shown string) string {
	var n float64
	switch t.Kind {
	case String:
		if word := v.String(); r.Enum != nil && !slices.Contains(r.Enum, word) {
			if r.Secret {
				word = ""
			}
			return NotAllowed(shown, word, r.Enum)
		}
		n = float64(utf8.RuneCountInString(v.String()))
	case Int, Duration, Size:
		n = float64(v.Int())
	case Float:
		n = v.Float()
	case List, Map:
		n = float64(v.Len())
	default:
		return ""
	}
	counted := t.Kind.Counted()
	if counted != "" {
		shown = strconv.Itoa(int(n))
	}
	switch {
	case r.Min != nil && n < r.Min.N:
		return OutOfBounds("at least", r.Min.Text, counted, shown)
	case r.Max != nil && n > r.Max.N:
		return OutOfBounds("at most", r.Max.Text, counted, shown)
	}
	return ""
}

// NotAllowed says that a value is none of those that are allowed. Of a word it says which was probably meant.
func NotAllowed(shown, word string, allowed []string) string {
	problem := "must be one of " + strings.Join(allowed, ", ") + ", not " + shown
	if near, ok := nearest.Word(word, allowed); ok {
		problem += "; did you mean " + near + "?"
	}
	return problem
}

// OutOfBounds says that a number is not within a bound, "at least" or "at most" something; or how many of
// what a value has.
func OutOfBounds(limit, bound, counted, shown string) string {
	switch {
	case counted == "":
		return "must be " + limit + " " + bound + ", not " + shown
	case shown == "0":
		return "must not be empty"
	}
	return "must have " + limit + " " + bound + " " + counted + ", not " + shown
}

// Keyed is a map that has its own type of element for each key. Its elements are
// pointers to structs, held as interfaces.
type Keyed interface {
	Keys() []string     // those that are known, in the order to describe them
	Others() string     // regular expression of keys that may come to be known, none of those
	New(key string) any // an element, also for keys that are not known
}

// KeyedOf returns a map of type t as a [Keyed], or nil if it is none.
func KeyedOf(t *Type) Keyed {
	keyed, _ := reflect.Zero(t.Go).Interface().(Keyed)
	return keyed
}

// Element returns a new element of a map of type t for a key, set to its zero
// value, and its type.
func (all *Types) Element(t *Type, key string) (reflect.Value, *Type) {
	if keyed := KeyedOf(t); keyed != nil {
		v := reflect.ValueOf(keyed.New(key)).Elem()
		return v, all.Of(v.Type())
	}
	return reflect.New(t.Elem.Go).Elem(), t.Elem
}
