//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// everyWay runs a test over both transports and, on HTTP, in both kinds of protocol
// versions. Each has a directory of its own.
func everyWay(t *testing.T, yaml string, test func(t *testing.T, dir string, call func(tool string, args any) answer)) {
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		c := start(t, httpConfig(t, dir, yaml)...)
		test(t, dir, c.call)
	})
	for _, version := range []string{"2025-11-25", modernVersion} {
		t.Run("HTTP "+version, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := startHTTP(t, binary(), httpConfig(t, dir, yaml)...).newPeer(t, version, "")
			test(t, dir, func(tool string, args any) answer { return p.call(t, tool, args) })
		})
	}
}

// whole is all that a client gets of an answer.
func whole(a answer) string {
	if a.Error != nil {
		return fmt.Sprintf("%d %s %v", a.Error.Code, a.Error.Message, a.Error.Data)
	}
	return a.text()
}

// saying checks an answer: its error type, "" for success, and parts of its text.
func saying(t *testing.T, what string, a answer, errorType string, want ...string) {
	t.Helper()
	text := whole(a)
	if a.errorType() != errorType {
		t.Errorf("%s: error type %q, want %q: %s", what, a.errorType(), errorType, text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: no %q in\n%s", what, w, text)
		}
	}
}

// TestTimeouts checks the one shape of timeouts: a tool execution error that keeps what
// there is and says which limit it was, and what is possible.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for _, errors := range []string{"jsonrpc", "result"} {
		t.Run(errors, func(t *testing.T) {
			everyWay(t, "errors: "+errors+"\ntools: {bash: {timeout: 2}, execute_command: {timeout: 2}}", func(t *testing.T, _ string, call func(string, any) answer) {
				const command = "echo half; sleep 60"
				saying(t, "own", call("bash", arguments("command", command, "timeout", 1)), "timed_out",
					"half\n[timed out after 1s]\n[The timeout of the call ended it: give a timeout of up to 2 seconds, or run it with bash and background: true.]")
				saying(t, "the operator's", call("bash", arguments("command", command)), "timed_out",
					"half\n[timed out after 2s]\n[The operator's limit (tools.bash.timeout) ended it: ")
				saying(t, "above", call("bash", arguments("command", command, "timeout", 60)), "timed_out",
					"[timed out after 2s]", "not the 60 seconds of the call: run it with bash and background: true")
				saying(t, "above, in time", call("bash", arguments("command", "echo x", "timeout", 60)), "")
				for _, timeout := range []int{0, 1, 60} {
					args := arguments("command", command)
					if timeout > 0 {
						args["timeout"] = timeout
					}
					a := call("execute_command", args)
					saying(t, "execute_command", a, "timed_out", `"stdout":"half\n"`, `"timed_out":true`, "Command timed out after ")
					if s := a.Result.StructuredContent; s["stdout"] != "half\n" || s["timed_out"] != true || s["exit_code"] == nil || s["next_action_hint"] == "" {
						t.Errorf("structured content %v", s)
					}
				}
				for _, ms := range []int{30000, 120000, 3600000} {
					saying(t, "milliseconds", call("bash", arguments("command", "true", "timeout", ms)), "invalid_arguments",
						fmt.Sprintf("timeout is in seconds and at most 2 (tools.bash.timeout), so %d is too long; if that was in milliseconds, give 2", ms))
				}
			})
		})
	}
}

// TestTimeoutSchema checks that the schemas have the limits that are in force, and that a
// tool without an answer so far has the code of a timeout.
func TestTimeoutSchema(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]float64{"": 600, "tools: {bash: {timeout: 5}, execute_command: {timeout: 5}}": 5} {
		c := start(t, httpConfig(t, t.TempDir(), yaml)...)
		var list struct {
			Tools []struct {
				Name        string
				InputSchema struct {
					Properties map[string]struct {
						Maximum     float64
						Description string
					}
				}
			}
		}
		must(t, json.Unmarshal(c.request("tools/list", nil), &list))
		seen := 0
		for _, tool := range list.Tools {
			timeout, ok := tool.InputSchema.Properties["timeout"]
			if !ok {
				continue
			}
			seen++
			maximum, description := want, fmt.Sprintf("Timeout in seconds; default %g.", min(want, 30))
			if tool.Name == "bash" { // which takes those of background commands, too
				maximum, description = 3600, fmt.Sprintf("Timeout in seconds; default %g, at most %g; background: default and at most 3600.", min(want, 30), want)
			}
			if timeout.Maximum != maximum || timeout.Description != description {
				t.Errorf("%q: %s has %+v", yaml, tool.Name, timeout)
			}
		}
		if seen != 2 {
			t.Errorf("%d tools have a timeout", seen)
		}
	}
}

// TestJobsTool starts, lists, waits for, reads and stops background jobs, each by its
// session only.
func TestJobsTool(t *testing.T) {
	t.Parallel()
	everyWay(t, "", func(t *testing.T, _ string, call func(string, any) answer) {
		saying(t, "none", call("bash_jobs", arguments()), "", "none")
		started := call("bash", arguments("command", "echo one; sleep 0.3; echo two; exit 3", "background", true))
		match := regexp.MustCompile(`^\[job (\S+) started; read its output with bash_jobs\(action="read", job="(\S+)"\), stop it with action="stop"\]$`).FindStringSubmatch(started.text())
		if match == nil || match[1] != match[2] {
			t.Fatalf("started: %s", whole(started))
		}
		id := match[1]
		a := call("bash_jobs", arguments("action", "read", "job", id, "wait", 50))
		saying(t, "waited", a, "", "one\ntwo\n[job "+id+" ended with exit code 3; next offset 8]")
		if s := a.Result.StructuredContent; s["output"] != "one\ntwo\n" || s["next_offset"] != 8.0 {
			t.Errorf("structured content %v", s)
		}
		call("bash", arguments("command", "sleep 1000", "background", true))
		list := call("bash_jobs", arguments("action", "list"))
		saying(t, "list", list, "", id+": ended with exit code 3: echo one; sleep 0.3; echo two; exit 3\n", ": sleep 1000")
		jobs, _ := list.Result.StructuredContent["jobs"].([]any)
		if len(jobs) != 2 || len(strings.Split(list.text(), "\n")) != 2 {
			t.Fatalf("list: %s %v", list.text(), list.Result.StructuredContent)
		}
		running, _ := jobs[1].(map[string]any)["job"].(string)
		saying(t, "stop", call("bash_jobs", arguments("action", "stop", "job", running)), "", "[job "+running+" stopped; next offset 0]")
		saying(t, "unknown", call("bash_jobs", arguments("action", "read", "job", "job-x")), "unknown_job", "jobs: "+id+", "+running)
		saying(t, "no command", call("bash", arguments("command", "", "background", true)), "invalid_arguments", "command must not be empty")
		saying(t, "milliseconds", call("bash", arguments("command", "true", "background", true, "timeout", 7_200_000)), "invalid_arguments", "at most 3600")
	})
}

// TestJobsFollow checks that who may not run commands has no tool for jobs either.
func TestJobsFollow(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]string{
		"tools: {bash: {enabled: false}}":                             "tool_disabled",
		"tools: {bash: {groups: [staff]}}":                            "tool_not_found",
		"tools: {bash: {enabled: false}, bash_jobs: {enabled: true}}": "",
		"tools: {bash_jobs: {enabled: false}}":                        "tool_disabled",
	} {
		c := start(t, httpConfig(t, t.TempDir(), yaml)...)
		saying(t, yaml, c.call("bash_jobs", arguments()), want)
		if listed := slices.Contains(c.names(), "bash_jobs"); listed != (want == "") {
			t.Errorf("%s: bash_jobs is listed: %v", yaml, listed)
		}
	}
}

// TestLeftOver checks that a result counts the processes that were terminated with a
// command, and only those.
func TestLeftOver(t *testing.T) {
	t.Parallel()
	everyWay(t, "", func(t *testing.T, _ string, call func(string, any) answer) {
		saying(t, "two", call("bash", arguments("command", "nohup sleep 1000 & setsid sleep 1000 & echo started")), "",
			"started\n[2 processes that the command left running were terminated; to keep them, run it with bash and background: true]")
		saying(t, "one", call("execute_command", arguments("command", "sleep 1000 & echo started")), "",
			`"note":"1 process that the command left running was terminated; to keep it, run it with bash and background: true"`)
		for _, command := range []string{"echo x", "sleep 0.05 & echo x", "(true | true &) ; echo x", "seq 3 | head -1 >/dev/null; echo x"} {
			a := call("bash", arguments("command", command))
			meta, _ := json.Marshal(a.Result.Meta)
			var took struct {
				Milliseconds int `json:"duration_ms"`
			}
			must(t, json.Unmarshal(meta, &took))
			// What has not ended 200 ms after the command is terminated, on a slow machine that too.
			terminated := took.Milliseconds >= 200 && strings.HasPrefix(a.text(), "x\n[1 process that the command left running was terminated;")
			if a.text() != "x" && !terminated || strings.Contains(string(meta), "sandbox") {
				t.Errorf("%s: %s, %s", command, whole(a), meta)
			}
		}
	})
}

// TestJobOfCommandLine checks that the command line promises no job that ends with it.
func TestJobOfCommandLine(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(binary(), "--dir", t.TempDir(), "call", "bash", "sleep 60", "--background").CombinedOutput()
	if err == nil || strings.Contains(string(out), "started") || !strings.Contains(string(out), "run the command without background") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestRefusals checks that refusals of paths are about paths, those of commands about
// commands, and that none says a thing twice.
func TestRefusals(t *testing.T) {
	t.Parallel()
	everyWay(t, "tools: {bash: {denied_commands: [rm, sudo]}}", func(t *testing.T, dir string, call func(string, any) answer) {
		dir, err := filepath.EvalSymlinks(dir)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, ".env"), []byte("A=1\n"), 0o644))
		bash := func(command string) answer { return call("bash", arguments("command", command)) }
		for command, row := range map[string]struct{ errorType, text, hint string }{
			"touch /etc/xyz": {"denied", "bash: denied by policy: touch operand writes /etc/xyz, which is outside the allowed paths (allowed: " + dir + "); write in an allowed path or in $TMPDIR", "write in an allowed path or in $TMPDIR"},
			"echo x > .env":  {"denied", "bash: denied by policy: the redirection writes " + dir + `/.env, which is protected: .env (the operator can allow it with sandbox.unprotected: [".env"])`, "Work without this file; only the operator can allow it."},
			"cat .env":       {"denied", "bash: denied by policy: a word of the command names " + dir + `/.env, which is protected: .env (the operator can allow it with sandbox.unprotected: [".env"])`, "Work without this file; only the operator can allow it."},
			"rm x":           {"denied", "bash: denied by policy: rm x is denied (rule: denied: rm); every command is allowed except: rm, sudo", "Use a command that is allowed, or ask the operator to allow this one."},
			"if [":           {"invalid_command", "bash: the command is not valid bash: 1:1: `if <cond>` must be followed by `then`; check the quoting; a command that cannot be parsed is refused", "Check the quoting."},
		} {
			a := bash(command)
			if hint := a.Result.StructuredContent["next_action_hint"]; a.errorType() != row.errorType || a.text() != row.text || hint != row.hint {
				t.Errorf("%s: %s %q; hint %q", command, a.errorType(), whole(a), hint)
			}
		}
		saying(t, "git add", bash("git init -q . && git add -A ."), "exit_status", "[the sandbox refused "+dir+"/.env, which is protected: .env (")
	})
	everyWay(t, "", func(t *testing.T, dir string, call func(string, any) answer) {
		dir, err := filepath.EvalSymlinks(dir)
		must(t, err)
		a := call("bash", arguments("command", "touch /etc/xyz"))
		saying(t, "by the kernel", a, "exit_status", "[the sandbox lets commands write only in "+dir+" and $TMPDIR, so /etc/xyz is not writable (rule: tools.write_file.allowed_paths)]")
		saying(t, "in $TMPDIR", call("bash", arguments("command", "echo x > $TMPDIR/x && cat $TMPDIR/x")), "", "x")
		saying(t, "no output", call("bash", arguments("command", "true")), "", "[no output]")
		saying(t, "bash's own", call("bash", arguments("command", "if [")), "exit_status", "syntax error")
	})
}

// TestOtherNames checks what the names get that tools of other servers have.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	everyWay(t, "", func(t *testing.T, _ string, call func(string, any) answer) {
		for tool, want := range map[string]string{
			"read_text_file": "read_file", "Bash": "bash", "Read": "read_file", "str_replace_editor": "edit_file", "run_command": "bash",
			"write": "write_file", "ls": "list_directory", "Glob": "search_files", "KillShell": "bash_jobs", "grpe": "grep",
			"list_allowed_directories": "system_info", "get_file_info": "list_directory",
		} {
			a := call(tool, arguments("path", "x"))
			saying(t, tool, a, "tool_not_found", fmt.Sprintf("no tool %q; did you mean ", tool))
			saying(t, tool, a, "tool_not_found", want+"(")
		}
		if a := call("no_such_thing", arguments()); whole(a) == "" || strings.Contains(whole(a), "did you mean") || strings.Contains(whole(a), "tools/list") {
			t.Errorf("an unknown tool: %s", whole(a))
		}
		for _, row := range []struct {
			tool  string
			args  map[string]any
			names map[string]string
		}{
			{"read_file", arguments("path", "x", "tail", 2), map[string]string{"tail": "offset? A negative offset counts from the end: offset: -2 for the last two lines."}},
			{"read_file", arguments("path", "x", "end_line", 2, "view_range", []int{1, 2}), map[string]string{"end_line": "limit? It is a number of lines", "view_range": "limit? It is a number of lines"}},
			{"read_file", arguments("path", "x", "file_path", "y"), map[string]string{"file_path": "path?"}},
			{"edit_file", arguments("path", "x", "patch", "y"), map[string]string{"patch": "edits? It has"}},
			{"write_file", arguments("path", "x", "content", "y", "mode", "append"), map[string]string{"mode": "on_conflict? To add to the end of a file, use append_file."}},
			{"grep", arguments("pattern", "x", "-A", 1, "-B", 1, "-C", 1, "case_sensitive", true), map[string]string{"-A": "context? It is", "-B": "context? It is", "case_sensitive": "ignore_case? "}},
			{"grep", arguments("patern", "x"), map[string]string{"patern": "pattern?"}},
			{"bash", arguments("cmd", "x", "timeout_ms", 5), map[string]string{"timeout_ms": "timeout? It is in seconds."}},
		} {
			a := call(row.tool, row.args)
			for name, meant := range row.names {
				saying(t, row.tool, a, "invalid_arguments", name+" is not a known argument; did you mean "+meant)
			}
			if strings.Contains(whole(a), "known: ") {
				t.Errorf("%s: all names as well: %s", row.tool, whole(a))
			}
		}
		for _, row := range []struct{ tool, args, want string }{ // what has one meaning is accepted
			{"write_file", `{"filename":"names.txt","text":"a\nb\nc\n"}`, "names.txt"},
			{"read_file", `{"filePath":"names.txt","-n":"true","start_line":"2"}`, "2\tb"}, {"read_file", `{"file":"names.txt","head":1}`, "a\n"},
			{"edit_file", `{"file_path":"names.txt","old_string":"a","new_string":"d"}`, "+d"}, {"edit_file", `{"path":"names.txt","oldText":"d","newText":"e"}`, "+e"},
			{"edit_file", `{"path":"names.txt","edits":"[{\"old_text\":\"e\",\"new_text\":\"f\"}]"}`, "+f"}, {"edit_file", `{"path":"names.txt","edits":{"old_str":"f","new_str":"g"}}`, "+g"},
			{"grep", `{"q":"G","-i":true,"output_mode":"content","head_limit":3,"include":"names.*"}`, "names.txt:1:g"},
			{"bash", `{"script":"echo hi","cwd":"."}`, "hi"}, {"execute_command", `{"cmd":"echo $X","env":"{\"X\":\"1\"}"}`, `"stdout":"1\n"`},
		} {
			if a := call(row.tool, json.RawMessage(row.args)); a.failed() || !strings.Contains(a.text(), row.want) {
				t.Errorf("%s %s: %s", row.tool, row.args, whole(a))
			}
		}
		many := map[string]any{"pattern": "x"}
		for i := range 100 {
			many[fmt.Sprintf("zz%d", i)] = i
		}
		if a := call("grep", many); a.Error == nil || strings.Count(a.Error.Message, "known: ") != 1 || len(a.Error.Message) > 1000 {
			t.Errorf("many unknown names: %s", whole(a))
		}
	})
}

// TestNextCalls makes the call that each failure proposes.
func TestNextCalls(t *testing.T) {
	t.Parallel()
	everyWay(t, "", func(t *testing.T, dir string, call func(string, any) answer) {
		must(t, os.Mkdir(filepath.Join(dir, "src"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "src", "a1.go"), []byte("package a\n"), 0o644))
		must(t, os.WriteFile(filepath.Join(dir, "odd.txt"), []byte("caf\xe9 \x81\x8d\xff"), 0o644))
		for _, row := range []struct {
			tool string
			args map[string]any
			want string
		}{
			{"grep", arguments("pattern", "x", "path", "srcs"), `did you mean src? Call grep again with path="src"`},
			{"list_directory", arguments("path", "srcs"), `did you mean src? Call list_directory again with path="src"`},
			{"read_file", arguments("path", "scr/a1.go"), `did you mean src/a1.go? Call read_file(path="src/a1.go")`},
			{"read_file", arguments("path", "scr"), `did you mean src? Call list_directory(path="src")`},
			{"read_file", arguments("path", "zzz"), `list_directory(path=".") shows what there is`},
		} {
			a := call(row.tool, row.args)
			saying(t, row.tool, a, "not_found", row.want)
			hint, _ := a.Result.StructuredContent["next_action_hint"].(string)
			calls := regexp.MustCompile(`\w+\(path="[^"]*"\)`).FindAllString(hint, -1)
			if len(calls) == 0 || len(calls) == 2 && calls[0] == calls[1] {
				t.Errorf("%s %v: hint %s", row.tool, row.args, hint)
			}
			for _, c := range calls {
				tool, path, _ := strings.Cut(strings.TrimSuffix(c, `")`), `(path="`)
				saying(t, c, call(tool, arguments("path", path)), "")
			}
		}
		if a := call("read_file", arguments("path", "odd.txt")); strings.Contains(fmt.Sprint(a.Result.StructuredContent), "the encoding the file is in") {
			t.Errorf("a file of no encoding: %v", a.Result.StructuredContent)
		}
	})
}

// TestCutOutput checks that long output is cut at the ends of lines, and that both tools
// keep as much of it.
func TestCutOutput(t *testing.T) {
	t.Parallel()
	everyWay(t, "", func(t *testing.T, _ string, call func(string, any) answer) {
		const command = "seq 1 100000"
		text := call("bash", arguments("command", command)).text()
		executed := call("execute_command", arguments("command", command))
		stdout, _ := executed.Result.StructuredContent["stdout"].(string)
		for what, got := range map[string]string{"bash": text, "execute_command": stdout} {
			head, rest, ok := strings.Cut(got, "\n[... ")
			marker, tail, _ := strings.Cut(rest, "\n")
			tail, _, _ = strings.Cut(tail, "\n[Output truncated")
			var bytes, left int
			_, err := fmt.Sscanf(marker, "%d bytes, %d lines left out ...]", &bytes, &left)
			first, last := strings.Split(head, "\n"), strings.Split(tail, "\n")
			if !ok || err != nil || first[0] != "1" || first[len(first)-1] != fmt.Sprint(len(first)) || last[len(last)-1] != "100000" ||
				last[0] != fmt.Sprint(100000-len(last)+1) || len(first)+left+len(last) != 100000 {
				t.Errorf("%s: %d lines, %s, %d lines: %.100q ... %.100q", what, len(first), marker, len(last), head[max(0, len(head)-50):], tail)
			}
			if len(got) < 30_000 || len(got) > 40_000 {
				t.Errorf("%s keeps %d bytes", what, len(got))
			}
		}
		for _, command := range []string{`head -c 200000 /dev/zero | tr '\0' '"'`, `seq 1 20000; seq 1 20000 >&2`, `head -c 200000 /dev/zero | tr '\0' '<' | tee /dev/stderr`} {
			a := call("execute_command", arguments("command", command))
			if s := a.Result.StructuredContent; s["exit_code"] != 0.0 || s["truncated"] != true || len(a.text()) > 40_000 || !json.Valid([]byte(a.text())) {
				t.Errorf("%s: %d characters, %.300v", command, len(a.text()), s)
			}
		}
	})
}
