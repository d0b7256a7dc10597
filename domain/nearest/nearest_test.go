package nearest_test

import (
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain/nearest"
)

func TestWord(t *testing.T) {
	keys := []string{"allowed_commands", "denied_commands", "timeout", "name", "path", "paths", strings.Repeat("k", 300)}
	for _, test := range []struct{ word, want string }{
		{"allowed_comands", "allowed_commands"},
		{"allowedCommands", "allowed_commands"},
		{"Timeout", "timeout"},
		{"tiemout", "timeout"}, // a swap is one edit
		{"itemuot", ""},        // three swaps in a word of seven are too many
		{"nmae", "name"},       // within 1
		{"game", "name"},       // a substitution
		{"gate", ""},           // two in a word of four
		{"path", "path"},       // an exact match wins over a near one
		{"pathz", "path"},      // the first of two that are equally near
		{"n", ""},              // nothing within 1
		{"", ""},               // nothing to go by
		{"allowed-commands", "allowed_commands"},
		{"tímeout", "timeout"}, // letters count, not bytes
		{"denied_command_s_x", "denied_commands"},
		{strings.Repeat("k", 300), ""},
		{strings.Repeat("k", 1<<20), ""},
	} {
		got, ok := nearest.Word(test.word, keys)
		if got != test.want || ok != (test.want != "") {
			t.Errorf("%.30q: got %q, %v; want %q", test.word, got, ok, test.want)
		}
	}
}

func FuzzWord(f *testing.F) {
	f.Add("timeout", "tiemout")
	f.Fuzz(func(t *testing.T, word, other string) {
		got, ok := nearest.Word(word, []string{other})
		if ok && got != other {
			t.Errorf("%q is not a candidate", got)
		}
	})
}

func BenchmarkWord(b *testing.B) {
	var candidates []string
	for range 100 {
		candidates = append(candidates, "allowed_commands", "denied_commands", "max_result_chars", "protect_default")
	}
	b.ReportAllocs()
	for b.Loop() {
		nearest.Word("protect_defaults", candidates)
	}
}
