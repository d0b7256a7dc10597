package command

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed words.txt
var wordLines string

// wordLists are the sections of words.txt by name, whose head describes the notation.
var wordLists = sync.OnceValue(func() map[string]nameList {
	lists, section := map[string]nameList{}, nameList{}
	for line := range strings.Lines(wordLines) {
		if name, head := strings.CutPrefix(line, "["); head {
			section = nameList{}
			lists[strings.TrimSuffix(name, "]\n")] = section
		} else if line[0] != '#' {
			for word := range strings.FieldsSeq(line) {
				name, _, _ := strings.Cut(word, "=")
				section[name] = word[len(name):]
			}
		}
	}
	return lists
})

// nameList holds names, and what follows them in the list from a = on.
type nameList map[string]string

// isListed reports whether a section has the name with the value; of [unknown] it has any.
func isListed(section, name string, value arg) bool {
	l := wordLists()[section]
	values, ok := l[name]
	for i := 0; i <= len(name) && !ok; i++ {
		values, ok = l[name[:i]+"*"]
	}
	return ok && (values == "" || slices.ContainsFunc(strings.Split(values[1:], "|"), value.is))
}

// specialVar reports whether assigning the variable does more to the shell, or less, than give it the value.
func specialVar(name string) bool {
	return isListed("changing variables", name, unknown) || isListed("code variables", name, unknown) && !strings.HasPrefix(name, "GIT_")
}

// checkEnvName refuses an assignment to a variable that changes what runs.
func (c *checker) checkEnvName(name string, value arg, where string) {
	if !isListed("code variables", name, value) || isListed("harmless variables", name, value) {
		return
	}
	what := name + "=" + show(value.s)
	if where != "" {
		what = where + " " + name
	}
	c.refuse("environment", what+" changes which programs or code run later", "run the command without setting "+name)
}
