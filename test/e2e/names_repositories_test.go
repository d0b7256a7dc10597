//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A repository is what a command makes or changes, computing what git would run, and
// what its user types there afterwards: $RUNS is a program that leaves a mark.
type repository struct{ command, then string }

// repositories use $k for core.fsmonitor, and other names in pieces.
var repositories = []repository{
	{`git init -q --template= n; mkdir e; printf '#!/bin/sh\n%s\n' "$RUNS" >e/post-checkout; chmod +x e/post-checkout; ln -s ../../e x; mv x "$(echo n/.gi?)/hoo"ks`, `git -C n checkout -q -b x; git -C n -c user.name=a -c user.email=b commit -q --allow-empty -m x; git -C n checkout -q -b y`},
	{`git init -q --template= n; mkdir e; printf '#!/bin/sh\n%s\n' "$RUNS" >e/post-checkout; chmod +x e/post-checkout; ln -s ../../e x; ln -P x "$(echo n/.gi?)/hoo"ks`, `git -C n checkout -q -b x; git -C n -c user.name=a -c user.email=b commit -q --allow-empty -m x; git -C n checkout -q -b y`},
	{`git init -q n && git -C n config $k "$RUNS"`, `git -C n status`}, {`git config $k "$RUNS"`, `git status`}, {`git config --local core.hooksPath h; mkdir h; printf '#!/bin/sh\n%s\n' "$RUNS" >h/post-checkout; chmod +x h/post-checkout`, `git checkout -q -b x`},
	{`git clone -q -c $k="$RUNS" . n`, `git -C n status`}, {`git init -q n && printf '[core]\nfsmonitor = "%s"\n' "$RUNS" >>n/.gi?/conf*`, `git -C n status`}, {`git init -q n && python3 -c 'import glob, os; open(glob.glob("n/.g*/conf*")[0], "a").write("[core]\nfsmonitor = \"%s\"\n" % os.environ["RUNS"])'`, `git -C n status`},
	{`git init -q n; mv n/.gi? plain; printf '[core]\nfsmonitor = "%s"\n' "$RUNS" >>plain/config; mkdir m; mv plain "m/.g"it`, `git -C m status`}, {`git init -q n; cp -r n/.gi? plain; printf '[core]\nfsmonitor = "%s"\n' "$RUNS" >>plain/config; mkdir m; cp -r plain "m/.g"it`, `git -C m status`},
	{`mkdir -p t/hooks && printf '#!/bin/sh\n%s\n' "$RUNS" >t/hooks/post-checkout && chmod +x t/hooks/* && git init -q --template=t n`, `git -C n checkout -q -b x; git -C n -c user.name=a -c user.email=b commit -q --allow-empty -m x; git -C n checkout -q -b y`}, {`mkdir -p t/hooks && printf '#!/bin/sh\n%s\n' "$RUNS" >t/hooks/post-checkout && chmod +x t/hooks/* && GIT_TEMPLATE_DIR=t git clone -q . n`, `git -C n checkout -q -b x`},
	{`git init -q n; git -C n config include.path ../../inc; printf '[core]\nfsmonitor = "%s"\n' "$RUNS" >inc`, `git -C n status`}, {`git init -q n; git -C n config alias.x "!$RUNS"; git -C n config diff.external "$RUNS"; cd n; echo a >a; git add a; git -c user.name=a -c user.email=b commit -qm x; echo b >a`, `git -C n diff`},
	{`git init -q n; git -C n config filter.f.clean "$RUNS"; echo '* filter=f' >n/.gitattributes; echo a >n/a`, `git -C n add a`}, {`git init -q n; git -C n config filter.f.smudge "$RUNS"; git -C n config core.sshCommand "$RUNS"; git -C n remote add o ssh://x.invalid/y`, `git -C n fetch -q o`}, {`git init -q n; git -C n remote add o x::y; git -C n config remote.o.uploadpack "$RUNS;true"; git -C n config remote.o.url "$PWD/.g"it`, `git -C n fetch -q o`},
	{`git init -q n; git -C n config core.editor "$RUNS"; git -C n config user.name a; git -C n config user.email b`, `git -C n commit -q --allow-empty`}, {`git init -q n; printf '#!/bin/sh\n%s\n' "$RUNS" >r; chmod +x r; git -C n config gpg.program "$PWD/r"; git -C n config commit.gpgSign true`, `git -C n -c user.name=a -c user.email=b commit -q --allow-empty -m x`}, {`git init -q n; git -C n config credential.helper "!$RUNS"`, `echo url=http://x.invalid | git -C n credential fill`},
	{`git init -q n; git -C n config core.pager "$RUNS"; cd n; git -c user.name=a -c user.email=b commit -q --allow-empty -m x`, `script -qc 'git -C n log' /dev/null`}, {`git init -q n; git -C n config sequence.editor "$RUNS"; cd n; git -c user.name=a -c user.email=b commit -q --allow-empty -m x`, `git -C n -c user.name=a -c user.email=b rebase -i --root`}, {`git init -q n; git -C n config merge.d.driver "$RUNS"; git -C n config trailer.x.command "$RUNS"; git -C n config trailer.x.key x`, `echo a | git -C n interpret-trailers`},
	{`git worktree add -q w && git config extensions.worktreeConfig true && git -C w config --worktree $k "$RUNS"`, `git -C w status`}, {`git worktree add -q wt; mkdir e; cp -r .gi?/HEAD .gi?/objects .gi?/refs e; printf '[core]\nrepositoryformatversion = 0\nfsmonitor = "%s"\n' "$RUNS" >e/config; echo "$PWD/e" >"$(ls -d .gi?/worktrees/wt)/common"dir`, `git -C wt status`}, {`mkdir e; printf '[core]\nrepositoryformatversion = 0\nfsmonitor = "%s"\n' "$RUNS" >e/config; echo ../e >"$(echo .gi?)/common"dir; cp -r .gi?/objects .gi?/refs e`, `git status`},
	{`git init -q n; mv n/.gi? gd; printf '[core]\nfsmonitor = "%s"\n' "$RUNS" >>gd/config; printf 'gitdir: ../gd\n' >"n/.g"it`, `git -C n status`}, {`git init -q --separate-git-dir=gd n; printf '[core]\nfsmonitor = "%s"\n' "$RUNS" >>gd/config`, `git -C n status`}, {`git clone -q --bare . "b.g"it; mkdir -p "$(echo b.gi?)/hooks"; printf '#!/bin/sh\n%s\n' "$RUNS" >"$(echo b.gi?)/hooks/update"; chmod +x b.gi?/hooks/update`, `git push -q b.git HEAD:x`},
	{`git clone -q . s; git -c protocol.file.allow=always submodule --quiet add ./s sub; printf '#!/bin/sh\n%s\n' "$RUNS" >"$(echo .gi?/modules/sub)/hoo"ks/post-checkout; chmod +x .gi?/modules/sub/hooks/*`, `git -C sub checkout -q -b x`}, {`git clone -q . s; git -c protocol.file.allow=always submodule --quiet add ./s sub; git -C sub config $k "$RUNS"`, `git status; git -C sub status`}, {`git init -q n; git -C n config --global $k "$RUNS"; git config -f "$HOME/.git""config" $k "$RUNS"`, `git status`},
	{`mkdir -p "$HOME/.config/"g""it; printf '[core]\nfsmonitor = "%s"\n' "$RUNS" >"$(echo $HOME/.config/gi?)/config"`, `git status`}, {`printf '#!/bin/sh\n%s\n' "$RUNS" >"$(echo .gi?)/hooks/post-checkout"; chmod +x .gi?/hooks/*`, `git checkout -q -b y`}, {`mv .gi? old; git init -q .; git config $k "$RUNS"`, `git status`},
}

// TestRepositoriesRunNothing makes repositories whose configuration or hooks name a
// program, which their user's next command does not start.
func TestRepositoriesRunNothing(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		eachMachine(t, func(t *testing.T, without string) {
			t.Parallel()
			g, template := namesGround(t, who)
			mark := filepath.Join(g.temp, "mark")
			g.refurnish(template)
			b := g.open(setup{config: "logging: {level: error}\n", without: without})
			for i, r := range repositories {
				if without != "" && i%3 != 0 {
					continue
				}
				g.refurnish(template)
				command := `export k=core.fs"m"onitor RUNS="touch ` + mark + `"; ` + strings.ReplaceAll(r.command, "config ", `c""onfig `)
				o := b.call("execute_command", map[string]any{"command": command, "timeout": 600})
				g.plain(g.work, r.then, "GIT_TERMINAL_PROMPT=0")
				if _, err := os.Lstat(mark); err == nil {
					t.Errorf("%s\nruns a program at %s: %.400s", r.command, r.then, o.text)
					must(t, os.Remove(mark))
				} else if !said.MatchString(o.text) {
					t.Errorf("%s\ndoes not say why: %.500s", r.command, o.text)
				}
			}
			b.stop()
		})
	})
}

// TestRepositoriesRunPrograms checks that each would, without the sandbox.
func TestRepositoriesRunPrograms(t *testing.T) {
	t.Parallel()
	g, template := namesGround(t, account{"own", os.Geteuid()})
	mark := filepath.Join(g.temp, "mark")
	for _, r := range repositories {
		g.refurnish(template)
		_, complaints, _ := g.plain(g.work, `export k=core.fsmonitor RUNS="touch `+mark+`"; `+r.command)
		_, then, _ := g.plain(g.work, r.then, "GIT_TERMINAL_PROMPT=0")
		if os.Remove(mark) != nil {
			t.Errorf("%s\nruns nothing: %.500s\n%.500s", r.command, complaints, then)
		}
	}
}
