package sandbox

import (
	"testing"

	"github.com/toolserver/toolserver/sandbox/command"
)

func TestSetting(t *testing.T) {
	p := Policy{
		WorkingDirectory: "/w",
		Owners: []Owner{
			{Tool: "read_file", Reads: "read_file"}, {Tool: "grep", Reads: "read_file"}, {Tool: "write_file", Writes: "write_file"}, {Tool: "edit_file", Reads: "read_file", Writes: "write_file"},
			{Tool: "bash", Runs: "bash", Reads: "read_file", Writes: "write_file"}, {Tool: "execute_command", Runs: "bash", Reads: "read_file", Writes: "write_file"},
			{Tool: "web_fetch", Fetches: "web_fetch", AnyHost: true}, {Tool: "gmail_send", Mails: "gmail_send"},
		},
		Tools: map[string]ToolPolicy{
			"write_file":      {DeniedPaths: []string{"private", "*.key"}},
			"grep":            {AllowedPaths: []string{"src"}},
			"execute_command": {DeniedCommands: command.Rules("rm", "sudo")},
		},
	}
	for _, test := range []struct{ tool, rule, reason, key, entry string }{
		{"write_file", "", "/x is outside the allowed paths (allowed: /w)", "tools.write_file.allowed_paths", ""},
		{"grep", "", "/x is outside the allowed paths (allowed: /w/src)", "tools.grep.allowed_paths", ""},
		{"edit_file", "*.key", "a.key is denied by the rule *.key", "tools.write_file.denied_paths", "*.key"},
		{"bash", "path", "the redirection writes x, which is denied by the rule /w/private; write in an allowed path", "tools.write_file.denied_paths", "private"},
		{"read_file", "protected: .env", ".env is protected: .env (the operator can ...)", "sandbox.unprotected", ".env"},
		{"bash", "", "the sandbox refused to write /w/.git/hooks/x, which is protected: .git/hooks (the operator ...)", "sandbox.unprotected", ".git/hooks"},
		{"write_file", "protected: the state directory", "x is protected: the state directory", "", ""},
		{"write_file", "hard links", "x is denied by the rule hard links", "tools.write_file.hardlinks", ""},
		{"bash", "denied: rm", "rm x is denied", "tools.execute_command.denied_commands", "rm"},
		{"bash", "inline-code", "python3 -c runs code", "tools.bash.inline_code", ""},
		{"bash", "computed", "the program name is known only when it runs", "tools.execute_command.denied_commands", ""},
		{"bash", "syntax", "it is not valid bash", "", ""},
		{"bash", "", "the sandbox refused a connection to x:443: not in sandbox.network.allow (y)", "sandbox.network.allow", ""},
		{"bash", "", "commands may reach nothing (rule: sandbox.network: none)", "sandbox.network", ""},
		{"bash", "", "the command was terminated (rule: sandbox.limits.memory)", "sandbox.limits.memory", ""},
		{"web_fetch", "network.loopback", "127.0.0.1 is denied by network.loopback: it is this machine", "tools.web_fetch.private_hosts", ""},
		{"web_fetch", "tools.web_fetch.denied_hosts", "x is denied by tools.web_fetch.denied_hosts", "tools.web_fetch.denied_hosts", ""},
		{"gmail_send", "", "x@y is not in tools.gmail_send.allowed_recipients, which allows nobody", "tools.gmail_send.allowed_recipients", ""},
		{"system_info", "tools.system_info.enabled", "it is disabled", "tools.system_info.enabled", ""},
		{"bash", "", "the sandbox keeps commands from looking into processes other than their own", "", ""},
	} {
		if got := p.Setting(test.tool, test.rule, test.reason); got != (Setting{test.key, test.entry}) {
			t.Errorf("%s %q %q: %+v, want %s %s", test.tool, test.rule, test.reason, got, test.key, test.entry)
		}
	}
}
