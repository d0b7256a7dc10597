package command

import (
	"regexp"
	"strings"
	"testing"
)

// TestNotation holds the head of programs.txt to the two tables: each kind, word and effect in them is explained, what is
// explained is used, and what has an effect has code.
func TestNotation(t *testing.T) {
	explained := map[string]map[string]bool{}
	var section map[string]bool
	for line := range strings.Lines(programLines) {
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		for _, name := range []string{"Operands", "Among", "Options", "Effects"} {
			if strings.HasPrefix(line, "# "+name) {
				section = map[string]bool{}
				explained[name] = section
			}
		}
		if m := regexp.MustCompile(`^#    (\S+)  +\S`).FindStringSubmatch(line); m != nil {
			section[m[1]] = false
		}
	}
	use := func(section, word, line string) {
		if _, ok := explained[section][word]; !ok {
			t.Errorf("%q of the line %.60q is not explained under %s at the head of programs.txt", word, line, section)
		}
		explained[section][word] = true
	}
	option := regexp.MustCompile(`^.[^=?:>]*(?:([=?:>])(.*))?$`)
	for line := range strings.Lines(builtinLines + programLines) {
		_, rest, found := strings.Cut(strings.TrimSpace(line), "|")
		if line[0] == '#' || !found {
			continue
		}
		operands, options, _ := strings.Cut(rest, "|")
		for _, word := range strings.Fields(operands) {
			if _, whole := explained["Among"][word]; whole {
				use("Among", word, line)
			} else {
				use("Operands", strings.TrimSuffix(word, "*"), line)
			}
		}
		for _, word := range strings.Fields(options) {
			m := option.FindStringSubmatch(word)
			if m[1] == "" {
				continue
			}
			use("Options", m[1], line)
			if name, like := strings.CutPrefix(m[2], "~"); like && name != "" {
				use("Effects", "~", line)
			} else if m[2] != "" || m[1] != "?" {
				use("Effects", m[2], line)
			}
		}
	}
	for name, section := range explained {
		for word, used := range section {
			if !used {
				t.Errorf("%s: %q is explained and not used", name, word)
			}
		}
	}
	table := effects()
	for word := range explained["Effects"] {
		if _, ok := table[word]; !ok && !strings.Contains(". y t ~", word) {
			t.Errorf("the effect %q has no code", word)
		}
	}
	for word := range table {
		_, operand := explained["Operands"][word]
		if _, effect := explained["Effects"][word]; !operand && !effect {
			t.Errorf("%q has code and is not explained", word)
		}
	}
}
