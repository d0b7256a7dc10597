package prompts

import "strings"

// languages are the common ones, sorted, spelled as Markdown names them after a
// fence.
var languages = []string{
	"ada", "assembly", "bash", "c", "clojure", "cobol", "cpp", "csharp", "css", "dart", "dockerfile", "elixir", "elm", "erlang",
	"fortran", "fsharp", "go", "graphql", "groovy", "haskell", "html", "java", "javascript", "json", "jsx", "julia", "kotlin",
	"lua", "makefile", "matlab", "nim", "objective-c", "ocaml", "pascal", "perl", "php", "powershell", "prolog", "protobuf",
	"python", "r", "ruby", "rust", "scala", "scheme", "solidity", "sql", "swift", "terraform", "toml", "tsx", "typescript",
	"vbnet", "verilog", "vhdl", "xml", "yaml", "zig",
}

// spelled are names that people write and Markdown does not know.
var spelled = map[string]string{
	"c++": "cpp", "c#": "csharp", "f#": "fsharp", "golang": "go", "shell": "bash", "sh": "bash", "objective c": "objective-c",
}

// language is what a person calls a programming language.
type language string

// languageOf returns the language of a prompt, on one line, or "" if it is not
// given.
func languageOf(args map[string]string) language {
	return language(strings.Join(strings.Fields(strings.ReplaceAll(args["language"], "`", "")), " "))
}

// adjective returns the language as a word to put before a noun, with a space
// after it, or "".
func (l language) adjective() string {
	if l == "" {
		return ""
	}
	return string(l) + " "
}

// tag returns the language as the word after a fence, or "" if it makes none.
func (l language) tag() string {
	name := strings.ToLower(string(l))
	if known, ok := spelled[name]; ok {
		return known
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("+#-_.", r) {
			return ""
		}
	}
	return name
}
