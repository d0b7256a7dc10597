//go:build linux

package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// TestSandboxNotes checks that the note of a result says why the kernel refused a file,
// and that there is none where it did not.
func TestSandboxNotes(t *testing.T) {
	t.Parallel()
	const (
		secret, process     = "the sandbox refused WORK/.env, which is protected", "the sandbox keeps commands from looking into processes"
		reads, writes, none = "the sandbox lets commands read only WORK", "the sandbox lets commands write only in WORK", ""
	)
	rows := []struct{ command, want, listed string }{ // listed is what a list of paths to read changes
		{`perl -e '$f = "."."env"; open(F, $f) or die "open $f: $!"'`, secret, secret},
		{`perl -e '$f = "/proc/self/cwd/."."env"; open(F, $f) or die "open $f: $!"'`, secret, secret},
		{`perl -e '$f = "/proc/self/rootWORK/."."env"; open(F, $f) or die "open $f: $!"'`, secret, secret},
		{`cat /proc/$PPID/environ`, process, process},
		{`cat /proc/$PPID/maps`, process, process},
		{`ls -l /proc/$PPID/cwd`, process, process},
		{`cat OUT/writer`, reads, reads},
		{`cat /proc/self/cwd/../out/writer`, reads, reads},
		{`perl -e '$f = "OUT/writer"; open(F, $f) or die "open $f: $!"'`, reads, reads},
		{`ls OUT/`, none, reads},
		{`cat closed`, none, none},
		{`cat OUT/closed`, none, none},
		{`cat OUT/nothing`, none, none},
		{`./file`, none, none},
		{`echo x > OUT/new`, writes, writes},
		{`echo x > /proc/self/cwd/../out/new`, writes, writes},
		{`echo x >> OUT/writer`, writes, writes},
		{`rm OUT/writer`, writes, writes},
		{`perl -e 'rename("OUT/writer", "OUT/x") or die "rename OUT/writer: $!"'`, writes, writes},
		{`mkdir OUT/d`, writes, writes},
	}
	eachAccount(t, func(t *testing.T, who account) {
		for _, without := range []string{"", "namespaces", "landlock", "openat2"} {
			g := newGround(t, who)
			g.file(".env", "A=1\n", 0o644)
			g.file("file", "x\n", 0o644)
			g.file("closed", "x\n", 0)
			g.file(g.out+"/writer", "x\n", 0o644)
			g.file(g.out+"/closed", "x\n", 0)
			named := strings.NewReplacer("WORK", g.work, "OUT", g.out)
			for _, config := range []string{"sandbox: {network: none}\n", "tools: {read_file: {allowed_paths: [" + g.work + "]}}\n"} {
				b := g.open(setup{config: config, without: without})
				for _, row := range rows {
					want, listed := row.want, strings.HasPrefix(config, "tools")
					if listed {
						want = row.listed
					}
					root := who.id == 0 && strings.Contains(row.command, "closed") // whom no mode keeps out
					o := b.bash(named.Replace(row.command))
					if !o.failed { // there is no list to read without Landlock, say
						want = none
					}
					if note := strings.Contains(o.text, "[the sandbox"); !root && (note != (want != none) || !strings.Contains(o.text, named.Replace(want))) {
						t.Errorf("without %q, listed %v: %s: %s; want %q", without, listed, row.command, o.text, want)
					}
				}
				b.stop()
			}
		}
	})
}

// TestNotesOfRecord checks that all is told that is on record, in its order, and nothing of
// commands that went on without what they were refused.
func TestNotesOfRecord(t *testing.T) {
	t.Parallel()
	const (
		proxied, writes  = "sandbox: {network: {allow: [listed.invalid]}}\n", "the sandbox lets commands write only in WORK and $TMPDIR, so "
		here, network    = " (rule: tools.write_file.allowed_paths)", "the sandbox refused a network connection: commands may reach nothing (rule: sandbox.network: none)"
		elsewhere        = "tools: {write_file: {allowed_paths: [docs]}}\n"
		interfaces, nest = "the sandbox refused a socket for the interfaces of the machine", "the sandbox lets commands make no namespaces, mounts or sandboxes of their own, as "
		retries          = `python3 -c 'import socket, time
while True:
    try: socket.socket()
    except OSError: time.sleep(0.01)'`
	)
	rows := []struct{ config, command, want string }{
		{"", `echo x > OUT/x; curl -sS https://example.com`, "[" + writes + "OUT/x is not writable" + here + "; " + network + "]"},
		{"", `curl -sS https://example.com; echo x > OUT/x`, "[" + network + "; " + writes + "OUT/x is not writable" + here + "]"},
		{"", `echo x > OUT/x; mkdir OUT/y OUT/z; cat OUT/z; true`, "[" + writes + "OUT/x, OUT/y, OUT/z are not writable" + here + "]"},
		{"", `for n in a b; do perl -e 'open(F, ">", ".gdbin"."it") or exit 1; print F 1'; mkdir $n; perl -e 'open(F, ">", "$ARGV[0]/.gdbin"."it")' $n; done`, "[the sandbox refused to open WORK/.gdbinit, WORK/a/.gdbinit, WORK/b/.gdbinit, each of which is protected: .gdbinit"},
		{proxied, `echo x > OUT/x; curl -sS https://evil.example`, "[" + writes + "OUT/x is not writable" + here + "; the sandbox refused a connection to evil.example:443: not in "},
		{proxied, `python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80))'`, "[the sandbox refused a connection to 192.0.2.1:80: commands reach only the hosts of sandbox.network.allow (listed.invalid), through the proxy that HTTPS_PROXY names]"},
		{"sandbox: {network: loopback}\n", `python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80))'`, "[the sandbox refused a connection to 192.0.2.1:80: commands may reach a loopback interface of their own (rule: sandbox.network: loopback)]"},
		{"", retries, "[" + network + "]\n[timed out after 2s]\n[More time does not help a command that waits for connections that are refused. The timeout of the call ended it"},
		{"", `while :; do echo; sleep 0.1; done`, "[timed out after 2s]\n[The timeout of the call ended it"},
		{"", `wget -q https://example.com; echo $?`, "\n[" + network + "]"},
		{"", `curl -s https://example.com | cat`, "[" + network + "]"},
		{"", `node -p 'os.networkInterfaces()'`, "[" + interfaces + ": commands may reach nothing (rule: sandbox.network: none); with sandbox.network: loopback they have an interface of their own]"},
		{"", `ip address`, "[" + interfaces + ": "},
		{"", `echo x > /proc/self/comm`, "[the sandbox refused to write /proc/PID/comm: /proc is read-only for commands]"},
		{"", `unshare -Ur true`, "[" + nest + "unshare does]"},
		{"", `printf '#!/bin/sh\necho No usable sandbox >&2; exit 1' > chromium; chmod +x chromium; timeout 5 ./chromium --headless`, "[" + nest + "chromium does; give it --no-sandbox, since it is confined anyway]"},
		{"", `printf '#!/bin/sh\necho No usable sandbox >&2; exit 1' > chromium; chmod +x chromium; ./chromium --no-sandbox`, ""},
		{"", `python3 -c 'print(1)'`, ""},
		{"", `python3 -c 'import socket; socket.has_ipv6 and socket.socket(socket.AF_INET6)' 2>/dev/null || echo none`, ""},
		{"", `python3 -c 'import logging.handlers; logging.handlers.SysLogHandler("/dev/log")'`, ""},
		{elsewhere, `python3 -c 'import module'`, ""},
		{elsewhere, `python3 -c 'import module; assert 0'`, ""},
		{"", `git init -q . && git status`, ""},
		{"", `node -e 1`, ""},
		{"", `npm --version`, ""},
		{"", `npm_config_update_notifier=false npm test`, ""},
		{"", `go version`, ""},
		{"", `ls`, ""},
		{"", `getent passwd`, ""},
		{"", `id`, ""},
		{"", `man ls`, ""},
		{"", `curl --version`, ""},
		{"", `false`, ""},
	}
	eachAccount(t, func(t *testing.T, who account) {
		type server struct {
			*ground
			*box
		}
		servers := map[string]server{}
		pid := regexp.MustCompile(`/proc/\d+/`)
		for _, row := range rows {
			b, open := servers[row.config]
			if !open {
				g := newGround(t, who)
				g.file("module.py", "x = 1\n", 0o644)
				b = server{g, g.open(setup{config: row.config})}
				servers[row.config] = b
				defer b.stop()
			}
			named := strings.NewReplacer("WORK", b.work, "OUT", b.out)
			timeout := 20
			if strings.Contains(row.want, "timed out after 2s") {
				timeout = 2
			}
			o := b.box.call("bash", map[string]any{"command": named.Replace(row.command), "timeout": timeout})
			text := pid.ReplaceAllString(o.text, "/proc/PID/")
			if note := strings.Contains(text, "[the sandbox"); note != strings.Contains(row.want, "[the sandbox") || !strings.Contains(text, named.Replace(row.want)) {
				t.Errorf("%s%s: %s; want %q", row.config, row.command, o.text, row.want)
			}
		}

		b := servers[""]
		started := b.call("bash", map[string]any{"background": true, "command": "echo x > " + b.out + "/x; curl -sS https://example.com"})
		_, id, _ := strings.Cut(started.text, "[job ")
		id, _, _ = strings.Cut(id, " ")
		var o outcome
		eventually(t, "the job has ended", func() bool {
			o = b.call("bash_jobs", map[string]any{"action": "read", "job": id})
			return strings.Contains(o.text, " ended ")
		})
		if want := b.out + "/x is not writable" + here + "; " + network + "]\n[job "; !strings.Contains(o.text, want) {
			t.Errorf("a job: %s; want %q", o.text, want)
		}
	})
}
