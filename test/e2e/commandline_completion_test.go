package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// completions are what must be among the completions of the last word of a command line, and what
// must not.
var completions = []struct{ line, want, never string }{
	{"toolserver ca", "call", "check"},
	{"toolserver fi", "file", ""},
	{"toolserver fil", "files", ""}, // a server of the configuration
	{"toolserver files ec", "echo", "about"},
	{"toolserver upstream l", "list", "ping"},
	{"toolserver upstream ping fi", "files", ""},
	{"toolserver upstream add x --transport s", "sse", "http"},
	{"toolserver call re", "read_file", "grep"},
	{"toolserver explain re", "read_file", "grep"},
	{"toolserver file gr", "grep", "read_file"},
	{"toolserver help c", "config", "file"},
	{"toolserver help call re", "read_file", "grep"},
	{"toolserver call grep --mo", "--mode", "--path"},
	{"toolserver call grep --js", "--json", ""},
	{"toolserver call grep TODO --mode f", "files", "count"},
	{"toolserver call grep TODO --mode=f", "files", "count"},
	{"toolserver call list_directory --recursive=f", "false", "true"},
	{"toolserver call read_file f", "f.txt", ""},
	{"toolserver call grep TODO sr", "src", ""},
	{"toolserver -C . call gr", "grep", ""},
	{"toolserver completion f", "fish", "zsh"},
}

// TestCompletion completes command lines with the shells themselves.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []struct{ name, script string }{
		{"bash", `
. /usr/share/bash-completion/bash_completion
. <(toolserver completion bash)
while IFS= read -r line; do
	read -ra COMP_WORDS <<<"${line//=/ = }"
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=63 COMPREPLY=()
	__start_toolserver 2>/dev/null
	[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[-1]}")) # as complete -o default does
	printf '%s|' "${COMPREPLY[@]}" | tr '\n' ' '
	echo
done`},
		{"fish", `
toolserver completion fish | source
while read -l line
	set -l all (complete -C $line | string replace -r '\t.*' '' | string replace -r '^--[a-z]+=' '')
	echo (string join -- '|' $all)
end`},
		// The functions of zsh that fill the screen are replaced by some that print.
		{"zsh", `
compdef() { }
_describe() {
	((${#completions})) || return 1
	local -a all
	all=("${completions[@]}")
	print -rn -- "${(j:|:)${all[@]%%:*}}"
}
_arguments() {
	local -a all
	all=(${words[-1]}*(N))
	print -rn -- "${(j:|:)all}"
}
. <(toolserver completion zsh)
while IFS= read -r line; do
	words=(${=line}) CURRENT=${#${=line}}
	_toolserver
	print
done`},
	} {
		t.Run(shell.name, func(t *testing.T) {
			t.Parallel()
			y := newTypist(t)
			y.file("up.yaml", gateway(entry("files", "", upstreamBinary(t))))
			var lines strings.Builder
			for _, c := range completions {
				lines.WriteString(c.line + "\n")
			}
			cmd := y.command(shell.name, "-c", shell.script)
			if shell.name == "zsh" {
				cmd.Args = []string{"zsh", "-f", "-c", shell.script}
			}
			cmd.Env = append(cmd.Env, "TOOLSERVER_CONFIG="+y.dir+"/up.yaml", "TERM=dumb")
			if out, err := y.command(binary(), "-c", "up.yaml", "upstream", "ping", "files").CombinedOutput(); err != nil { // so that its tools are known
				t.Fatalf("%v: %s", err, out)
			}
			cmd.Stdin, cmd.Stderr = strings.NewReader(lines.String()), os.Stderr
			out, err := cmd.Output()
			must(t, err)
			answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			if len(answers) != len(completions) {
				t.Fatalf("%d answers to %d lines: %s", len(answers), len(completions), out)
			}
			for i, c := range completions {
				last := c.line[strings.LastIndexAny(c.line, " =")+1:]
				var words []string
				for word := range strings.SplitSeq(answers[i], "|") {
					word, _, _ = strings.Cut(strings.TrimSpace(word), " ") // bash adds what it is
					if word = strings.TrimRight(word, "/"); strings.HasPrefix(word, last) {
						words = append(words, word)
					}
				}
				if !slices.Contains(words, c.want) || c.never != "" && slices.Contains(words, c.never) {
					t.Errorf("%s: %q; want %s and not %q", c.line, answers[i], c.want, c.never)
				}
				if strings.Contains(answers[i], "`") {
					t.Errorf("%s: %q has a backtick", c.line, answers[i])
				}
			}
		})
	}
}
