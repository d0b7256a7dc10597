package upstream

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/toolserver/toolserver/sandbox/process"
)

// TestLastWords takes from what programs write when they fail the line that says why.
func TestLastWords(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"node module": {`node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module '/nonexistent/index.js'
    at Function._resolveFilename (node:internal/modules/cjs/loader:1225:15)
    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.20.2
`, "Error: Cannot find module '/nonexistent/index.js'"},
		"node throw": {"[eval]:1\nthrow new Error('FOO_API_KEY is not set')\n^\n\nError: FOO_API_KEY is not set\n    at [eval]:1:7\n" + strings.Repeat("    at x (node:internal:1:2)\n", 30) + "\nNode.js v20.20.2\n", "Error: FOO_API_KEY is not set"},
		"node type":  {"file:///x.mjs:3\n  a.b.c\n    ^\n\nTypeError: Cannot read properties of undefined (reading 'c')\n    at x\n\nNode.js v22\n", "TypeError: Cannot read properties of undefined (reading 'c')"},
		"npm": {`npm warn deprecated x@1: no
npm error code E404
npm error 404 Not Found - GET https://registry.example/foo - Not found
npm error 404
npm error 404  'foo@*' is not in this registry.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git folder.
npm error A complete log of this run can be found in: /root/.npm/_logs/2026-debug-0.log
npm notice
npm notice New version of npm available!
`, "npm error 404 Not Found - GET https://registry.example/foo - Not found"},
		"npm network": {`npm ERR! code ECONNREFUSED
npm ERR! syscall connect
npm ERR! errno ECONNREFUSED
npm ERR! FetchError: request to http://127.0.0.1:9/foo failed, reason: connect ECONNREFUSED 127.0.0.1:9
npm ERR!     at ClientRequest.<anonymous> (/usr/lib/node_modules/npm/x.js:130:14)
npm ERR! A complete log of this run can be found in: x
`, "npm ERR! FetchError: request to http://127.0.0.1:9/foo failed, reason: connect ECONNREFUSED 127.0.0.1:9"},
		"python":   {"Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n    import foo\nModuleNotFoundError: No module named 'foo'\n", "ModuleNotFoundError: No module named 'foo'"},
		"pydantic": {"Traceback (most recent call last):\n" + strings.Repeat("  File x\n", 60) + "pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings\napi_key\n  Field required [type=missing]\n", "pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings"},
		"exit":     {"BAR_TOKEN missing\n", "BAR_TOKEN missing"},
		"panic":    {"panic: runtime error: invalid memory address\n[signal SIGSEGV]\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:1 +0x1\nexit status 2\n", "panic: runtime error: invalid memory address"},
		"docker":   {"Unable to find image 'nope/x:latest' locally\ndocker: Error response from daemon: pull access denied for nope/x\n\nRun 'docker run --help' for more information\n", "docker: Error response from daemon: pull access denied for nope/x"},
		"uvx":      {"  × No solution found when resolving tool dependencies:\n  ╰─▶ Because foo was not found in the package registry, it cannot be used.\n", "it cannot be used."},
		"rust":     {"thread 'main' panicked at src/main.rs:1:2:\nno key\nnote: run with `RUST_BACKTRACE=1`\n", "panicked at src/main.rs:1:2:\nno key"},
		"java":     {"Exception in thread \"main\" java.lang.IllegalStateException: no key\n\tat A.main(A.java:3)\n", "java.lang.IllegalStateException: no key"},
		"dotnet":   {"Unhandled exception. System.InvalidOperationException: no key\n   at Program.Main() in /x.cs:line 3\n", "System.InvalidOperationException: no key"},
		"usage":    {"Unknown transport: /x\nnpm notice\nnpm notice New version\n", "Unknown transport: /x"},
	} {
		child := &process.Child{Stderr: new(process.Tail)}
		child.Stderr.Write([]byte(c.said))
		got := (&connection{child: child}).lastWords()
		quoted := strings.ReplaceAll(strings.ReplaceAll(c.want, "\n", `\n`), `"`, `\"`)
		if !strings.Contains(got, quoted) || strings.Contains(got, "goroutine") || strings.Contains(got, "    at ") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestStderrMasked logs what programs write without what looks like a credential.
func TestStderrMasked(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	l := newStderrLog(zap.New(core), []string{"configured-secret"})
	for _, secret := range []string{"sk-abcdefgh12345678", "ghp_0123456789abcdefghij", "hunter2hunter2", "configured-secret", "abcdefghijklmnop0123"} {
		_, _ = l.Write([]byte("key " + secret + " API_TOKEN=" + secret + " {\"password\": \"" + secret + "\"} Authorization: Bearer " + secret + "\n"))
		if secret == "configured-secret" {
			secret += "x" // told apart by its value only
		}
		line := logs.All()[logs.Len()-1].ContextMap()[StderrKey].(string)
		if strings.Count(line, secret) > 1 || strings.Contains(line, "="+secret) {
			t.Errorf("logged: %s", line)
		}
	}
	for _, plain := range []string{"GITHUB_TOKEN: required environment variable", "max_tokens: 4096", "task-force, risk-averse, /home/x/sk-project-templates", "SyntaxError: Unexpected token 'export'"} {
		_, _ = l.Write([]byte(plain + "\n"))
		if line := logs.All()[logs.Len()-1].ContextMap()[StderrKey]; line != plain {
			t.Errorf("%q is logged as %q", plain, line)
		}
	}
	if bytes.Contains([]byte(masked("github_pat_0123456789abcdef", nil)), []byte("0123")) {
		t.Error("not masked")
	}
}
