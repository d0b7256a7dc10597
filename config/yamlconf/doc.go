// Package yamlconf decodes one YAML file into Go structs strictly, and writes
// those structs back for people and editors.
//
// A configuration is a struct whose value before decoding holds the defaults.
// Package structschema says what its fields may be and which tags they carry;
// their names are in yaml tags. A text whose field has the tag path is taken
// relative to the folder of the file, and a leading ~/ is the home directory.
//
// A duration is a number of seconds or text such as 1m30s. A list that is absent
// stays as it is, while [] makes it empty and not nil. Maps are merged key by key
// over the defaults.
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
