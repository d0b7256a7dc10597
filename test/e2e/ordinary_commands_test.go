//go:build linux

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ordinary is a day's work, in this order, by what it takes.
var ordinary = map[string][]string{
	"git": {
		`git status --short`, `git init -q -b main other && git -C other status && rm -rf other`, `git add -A`, `git commit -q -m "work: don't rm -rf /"; git log --oneline --stat`,
		`echo more >>a.txt; git diff`, `git diff --stat | cat`, `git stash && git stash list && git stash pop`, `git branch topic && git branch -v`, `git checkout -q -b next && git switch -q main`,
		`git worktree add -q tree topic && ls tree && git worktree list --porcelain | grep -c worktree`, `git tag v1 && git describe --tags`, `git show HEAD --stat --format=%s`,
		`git blame a.txt | wc -l`, `git rev-parse --show-toplevel`, `git ls-files | sort | head -5`, `git grep -n TODO`, `git mv b.txt c.txt && git commit -qam moved && git log --format=%s -1`, `git reset -q --hard HEAD~1 && ls b.txt`,
		`git cherry-pick --no-commit HEAD 2>&1 | tail -1`, `git merge -q topic`, `git rebase -q topic && echo rebased`, `git clone -q . copy && ls copy | wc -l`, `git archive HEAD | tar -tf - | head -3`, `git clean -nd | sort`, `git config user.name`, `git gc -q`, `git fsck 2>&1 | sort | uniq -c`,
		"git commit -q --allow-empty -F - <<'E'\nsubject\n\nbody; rm x\nE\ngit log -1 --format=%B",
	},
	"go": {
		`go version | cut -d' ' -f1-2`, `go build && ls example`, `go vet ./...`, `go run . 2>&1; go run . 2>&1`, `go test -count=1 ./...`, `go test -count=1 -v -run TestIt .`, `gofmt -l . && go list ./...`, `go mod tidy && cat go.mod`, `go env GOOS GOARCH`, `go build -o out/prog . && ./out/prog 2>&1`,
	},
	"node": {`node app.js one two`, `npm test`, `npm run`, `npm run missing 2>&1 | head -2`, `npm pkg get name`, `node --version | cut -c1`, `node --check app.js && echo fine`},
	"python": {
		`python3 script.py a b`, `python3 -m unittest test_it 2>&1 | tail -1`, `python3 -m py_compile script.py && ls __pycache__ | wc -l`, `python3 -m json.tool package.json`, `python3 -m venv --without-pip venv && ls venv/bin | grep -c python`, `python3 --version | cut -d. -f1`,
	},
	"build": {`make`, `make -s FOO=1`, `make -n build`, `make hello && ./hello`, `gcc -Wall -c c/hello.c && file -b hello.o | cut -d' ' -f1; nm hello.o | grep -c main`, `g++ -x c++ -fsyntax-only c/hello.c`, `ar rc lib.a hello.o && ar t lib.a`, `gcc -shared -fPIC -o lib.so c/hello.c && ls -l lib.so | wc -l`},
	"files": {
		`tar czf b.tgz src && tar tzf b.tgz && tar xzf b.tgz -C out && ls out/src`, `tar cJf c.txz src && tar tJf c.txz | head -1`, `zip -qr s.zip src && unzip -l s.zip | tail -1; unzip -qo s.zip -d out`, `gzip -k a.txt && zcat a.txt.gz && gunzip -f a.txt.gz`, `bzip2 -k b.txt && bzcat b.txt.bz2`, `xz -k b.txt && xzcat b.txt.xz`,
		`find . -name '*.go' -exec wc -l {} +`, `find . -name '*.txt' -print0 | xargs -0 grep -l x`, `find src -type f -exec sh -c 'echo "$1"' _ {} \;`, `f=$(mktemp) && echo hi >"$f" && cat "$f" && rm "$f"`, `d=$(mktemp -d) && touch "$d/a" && ls "$d" && rm -r "$d"`, `ls -la | head -3`, `du -s --apparent-size src | cut -f2`, `df . | wc -l`, `stat -c '%a %s' a.txt`,
		`chmod 600 a.txt && stat -c %a a.txt && chmod +x script.py`, `touch -d 2020-01-01 old && stat -c %y old | cut -c1-10`, `ln -s a.txt link && readlink -f link | xargs basename; ln b.txt hard && stat -c %h hard`, `cp -p a.txt kept && cp -r src copied && cp -a src archived && ls -d copied archived`, `mv kept moved && cat moved`, `rm -rf copied archived && ! ls -d copied`, `mkdir -p deep/er/est && rmdir deep/er/est && ls deep`,
		`install -m 755 script.py out/tool && ls out/tool`, `tree 2>/dev/null; realpath a.txt | xargs basename; basename /a/b.c .c; dirname /a/b`, `split -l 1 a.txt part. && cat part.*`, `cmp a.txt moved && md5sum a.txt && sha256sum a.txt | cut -c1-8`, `truncate -s 10 t && wc -c <t`, `dd if=a.txt of=dd.out bs=1 count=3 2>/dev/null && cat dd.out`, `cd src && pwd | xargs basename && ls && cd - >/dev/null && ls -d src`, `chown "$(id -u)" a.txt && echo owned`,
	},
	"text": {
		`sed 's/foo/bar/' a.txt | awk '{print $1}' | sort -r | uniq -c`, `sed -i.bak 's/x/z/' b.txt && cat b.txt b.txt.bak`, `awk -F: '{s+=$1} END {print s}' a.txt`, `grep -rn --include='*.go' main . | sort`, `cut -d: -f2 a.txt | tr a-z A-Z`, `paste a b | column -t; join <(sort a) <(sort b)`, `sort -T . -n a`, `seq 200000 | sort -T . -S 1M -r | head -1`, `! diff a b`, `diff <(sort a) <(sort -u a) && echo same`, `comm -12 <(sort a) <(sort b)`, `head -c 3 a.txt | xxd -p`, `printf '%s\n' c a b | sort`,
		`nl a.txt | tail -1; tac a.txt | head -1; rev b.txt; fold -w 2 b.txt; expand b.txt | wc -l`, `rg -n TODO --sort path`, `jq -r .name package.json 2>/dev/null || echo no jq`, `patch -p0 --dry-run a.txt </dev/null && echo fine`, `base64 a.txt | base64 -d`, `iconv -f utf-8 -t latin1 a.txt | wc -c`, `bc <<<'2+3' 2>/dev/null || echo $((2+3))`, `date -d @0 -u +%F`, `printf 'a\nb\n' | while read -r l; do echo "<$l>"; done`, `perl -pe 's/x/y/' a.txt`, `less a.txt | cat`, `man -w ls | wc -l`, `man ls 2>/dev/null | head -1 | cut -c1-2`, `! cat /usr/share/dict/none 2>&1`,
	},
	"shell": {
		`bash -c 'echo inner'; sh -c 'echo "$0"' name`, `x=1; y=$((x+1)); echo "$y ${x:-none} ${#x}"`, `for i in 1 2 3; do echo "$i"; done | tac`, `f() { local a=$1; echo "got $a"; }; f x`, `set -euo pipefail; trap 'echo bye' EXIT; echo hi`, `echo $BASH_VERSION | cut -c1; echo "$PWD" | xargs basename; test -d "$HOME" && echo home`, `sleep 0.01 & wait $! && echo waited`, `timeout 5 true && env FOO=1 printenv FOO; nice echo nice; nohup echo up 2>/dev/null`,
		`cat <<E | wc -c` + "\n" + strings.Repeat("0123456789abcde\n", 1400) + "E", `exec 3>fd.txt; echo three >&3; exec 3>&-; cat fd.txt`, `mapfile -t l <a.txt; echo "${#l[@]}"`, `declare -A m=([a]=1); echo "${m[a]}"`, `printf -v v %05d 7; echo "$v"`, `shopt -s globstar; echo **/*.go`, `echo {1..3} "$(echo sub)" $'a\tb'`, `false; echo "status $?"`, `(exit 3) || echo "left with $?"`, `kill -0 $$ && echo alive`, `ulimit -n >/dev/null && echo limits`, `umask`, `ps -o comm= -p $$`, `which ls; command -v grep; type -t cd`, `yes | head -2`, `>|new; [[ -e new && ! -s new ]] && echo empty`, `printf '#!/bin/sh\necho script\n' >s.sh; chmod +x s.sh; ./s.sh`, `tty; id -un; uname -s; hostname >/dev/null; nproc >/dev/null; echo ok`,
		`head -c 3000000 /dev/zero | wc -c; echo ok >/dev/null; cat /dev/null; echo err >/dev/stderr; echo out >/dev/stdout`, `head -c 100000 /dev/urandom | wc -c`, `cat /proc/cpuinfo | grep -c processor >/dev/null && cat /proc/meminfo | head -1 | cut -d: -f1; echo $$ >/dev/null`,
		"big=$(seq 1 20000); wc -c <<<\"$big\"", "cat <<'E' >big.txt\n" + strings.Repeat("line of a large document\n", 1200) + "E\nwc -l big.txt",
	},
}

// unlisted is what only who has no list can do: programs that are not listed, and
// what the analysis cannot tell from what is not allowed.
var unlisted = []string{
	`missing-program`, `./script.py; ./Makefile`, `python3 -m venv --without-pip venv && venv/bin/python script.py venv`,
	`coproc cat; echo through >&"${COPROC[1]}"; read -r l <&"${COPROC[0]}"; echo "$l"`,
	`sqlite3 t.db 'create table t(a); insert into t values (1); select * from t'`,
	`awk 'BEGIN { system("echo by awk") }'`, `echo 'echo from a script' | sh`, `x=echo; $x computed`, `eval "$(echo echo evaluated)"`, `perl -e 'print "inline\n"'`, `node -e 'console.log(1)'`, `python3 -c 'print(1)'`,
}

// developer is the list of somebody who trusts the programs of his trade.
var developer = strings.Fields(`ls cat head tail wc grep rg find xargs sed awk sort uniq cut tr paste column join comm diff cmp nl tac rev fold expand split
	echo printf cd pwd pushd popd test [ true false exit set export local declare read mapfile trap wait type command kill umask ulimit shopt exec alias unset source . coproc
	git go gofmt node npm npx python3 perl make gcc g++ ar nm file ld tar gzip gunzip zcat bzip2 bzcat xz xzcat zip unzip cp mv rm mkdir rmdir touch ln chmod chown install stat readlink realpath basename dirname
	tree truncate dd du df mktemp md5sum sha256sum base64 xxd iconv bc jq patch seq yes date sleep timeout env nice nohup printenv bash sh ps id uname hostname nproc tty which man less sqlite3 tee ./hello ./out/prog ./script.py ./s.sh venv/bin/python`)

// ordinaryCommands does a day's work without any list and with one, and compares
// all of it with what bash does.
func ordinaryCommands(t *testing.T, home string) {
	lists := map[string]map[string]any{"default": {}, "listed": {
		"allowed_commands": developer, "denied_commands": []string{"sudo", "su", "ssh", "curl", "wget"}, "inline_code": "allow", "opaque_scripts": "allow", "exec_paths": []string{"./"},
	}}
	for name, lists := range lists {
		work := maps.Clone(ordinary)
		if len(lists) == 0 {
			work["unlisted"] = unlisted
		}
		for kind, commands := range work {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}
				theirs, ours := newProject(t), newProject(t)
				writable := []string{ours}
				if kind == "go" { // for the sake of time, what is built is kept for all
					writable = append(writable, filepath.Join(home, ".cache"))
				}
				tools, err := json.Marshal(map[string]any{"bash": lists, "write_file": map[string]any{"allowed_paths": writable}})
				if err != nil {
					t.Fatal(err)
				}
				w := &attacked{work: ours, home: filepath.Join(freshDir(t, "/var/tmp"), "home")}
				s := startAs(t, binary(), env, "--config", w.config(t, tools, "best_effort"))
				for _, command := range commands {
					got := s.execute(command, 200)
					if got.Result.StructuredContent["exit_code"] == nil {
						t.Errorf("%.300q is not run: %.600s", command, got.text())
					}
					want := plainBash(t, theirs, command, append(env, "TERM=dumb"))
					if _, _, code := want.output(); code != 0 && kind != "unlisted" {
						t.Errorf("%.300q does not work at all: %.1000v", command, want.Result.StructuredContent)
					}
					if got.Result.StructuredContent["exit_code"] == nil {
						continue
					}
					if is, was := comparable(got, ours, command), comparable(want, theirs, command); is != was {
						t.Errorf("%.300q\n--- gives\n%.1500s\n--- and bash\n%.1500s\n--- %v", command, is, was, got.Result.StructuredContent["sandbox"])
					}
				}
			})
		}
	}
}
