// Package yamlconf turns one YAML file into Go structs strictly, and describes
// those structs to people and to editors.
//
// A configuration is a struct whose value before decoding holds the defaults.
// Its fields carry these tags:
//
//	yaml       the key; ",inline" lifts the keys of a struct field into its
//	           parent, and takes all other keys into a map field; ",omitempty"
//	           leaves the key out of what is shown if it is unset
//	template   "-" on an inline struct: a template describes its keys elsewhere
//	doc        one sentence that says what the key is for
//	enum       the allowed strings, separated by |
//	min, max   bounds of a number, duration or size (in the notation of the
//	           file, such as "1s"), or of the length of a string, list or map
//	secret     "true": the value is masked wherever it is shown
//	path       "true": the text is a file name, taken relative to the folder
//	           of the configuration file; a leading ~/ is the home directory
//
// On a list or map the tags enum, secret and path apply to its elements.
//
// Fields may be strings, booleans, integers, floats, [time.Duration] (a number
// of seconds, or text such as 1m30s), [Bytes], slices, maps with string keys,
// structs, pointers to any of these (nil means unset), and types that
// implement [encoding.TextUnmarshaler] with a pointer receiver, which receive
// any scalar. A slice that is absent stays as it is, while [] makes it empty
// and not nil. Maps are merged key by key over the defaults.
//
// Five methods, matched by their signature so that a package need not import
// this one, adapt a type (all on the pointer):
//
//	UnmarshalConfig(node *yaml.Node, decode func(into any) error) error
//	SetDefaults()
//	ConfigSchema() map[string]any
//	ConfigText() (string, bool)
//	ConfigValue() any
//
// UnmarshalConfig takes over the decoding of a value that has more than one
// form. The node is never an alias, and its text still holds its references;
// decode decodes the same node strictly into another variable, with references
// and the tags of the field applied. An error from decode is passed on as it
// is; any other error is reported at the node with the key's name before it.
// SetDefaults is called on every new element of a list or map and behind every
// new pointer before the file is decoded over it. ConfigSchema replaces the
// JSON Schema derived from the type. ConfigText returns the text that a type with
// UnmarshalConfig is shown as, and false if it is to be shown in full. ConfigValue
// returns a pointer to a struct that stands for the value wherever it is decoded,
// shown or described: for keys that are known only when the program runs. The value
// keeps the pointer, and copies of it return the same.
//
// Strings may hold references, which are resolved after parsing, so that what
// they stand for is never read as YAML: ${NAME} is an environment variable,
// ${NAME:-text} has a text for when it is unset or empty, and ${file:PATH} is
// the content of a file of at most 64 KiB without its last newline. $${ is a
// plain ${. Keys are not expanded.
//
// A mistake in the declaration of a struct (an unsupported field type, a tag
// that cannot be read) makes every function of this package panic on the first
// use of that struct, whatever the input; no input does.
package yamlconf
