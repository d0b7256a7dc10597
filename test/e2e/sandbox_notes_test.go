//go:build linux

package e2e

import (
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
