package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/command"
)

// furnished is the setup of the workspace for the variations.
var furnished = []string{
	"file ${WS}/a.txt x", "file ${WS}/b.txt y", "file ${WS}/main.go x", "file ${WS}/.env S=1", "file ${WS}/script.py x", "file ${WS}/app.js x",
	"file ${WS}/evil.sh rm", "script ${WS}/ls rm", "symlink ${WS}/sym /etc", "symlink ${WS}/dangling /etc/new", "symlink ${WS}/link-rm /bin/rm", "gitrepo ${WS}",
}

// refused lists commands that each policy must refuse.
var refused = map[string][]string{
	"seed": {
		`l\s; r\m x`, `ls;rm x`, `ls|&rm x`, `ls & { rm x; } &`, `for f in a; do rm $f; done`, `for ((i=0;i<1;i++)); do rm x; done`, `case x in x) rm x;; esac`,
		`case $(rm x) in *) ls;; esac`, `select f in a; do rm x; done`, `coproc rm x`, `coproc F { rm x; }`, `coproc $'rm' x | cat`, `coproc 'rm' x`, `coproc rm x | cat`, `coproc rm`, "echo a # b\\\nrm x", "# \\\nrm x", `exec 3>&-rm x`, `ls 2>&-rm x`, `sh -c 'ec&>ho "$1"' _ rm`, `echo ${x:=<(rm x)}`, `decl\are -i n='a[$(rm x)]'`, `declare -i x'=a[$(rm x)]'`, `declare -i n; n='a[$(rm x)]'`, `eval 'declare -i n'; n='a[$(rm x)]'`, `declare -a 'x=($(rm y))'`, `bash -c - 'rm x'`, `bash -c +x 'rm x'`, "echo \"$\\\n(rm x)\"", `zsh -c 'ls'`, `zsh -c '=rm x'`, `fish -c ls`, `if ls; then :; elif rm x; then ls; fi`, `ls ${x:=$(rm x)}`,
		`ls ${x/a/$(rm x)}`, `ls ${x:$(rm x)}`, `ls ${x#$(rm x)}`, `ls ${a[$(rm x)]}`, `a=([$(rm x)]=1)`, `a=($(rm x))`, `cat <<E` + "\n$(rm x)\nE", "cat <<E\n`rm x`\nE",
		`ls >(rm x)`, `cat < <(rm x)`, `[[ a == @($(rm x)) ]]`, `[[ $(rm x) =~ a ]]`, `[[ -v a[$(rm x)] ]]`, `ls ${x@P}`, `x='$(rm x)'; ls ${x@P}`, `ls ${!x}`,
		`x='a[$(rm x)]'; ls $((x))`, `x='a[$(rm x)]'; ls ${b[x]}`, `ls {a,$(rm x)}`, `ls "a"$(rm x)`, `ls $"a"`, `time rm x`, `! { ls; rm x; }`, `f() { ls; }; unset -f f; f`,
		`if false; then f() { ls; }; fi; f`, `f() { "$@"; }; f rm x`, `f() { $1 x; }; f rm`, `f() { f; rm x; }`, `ls <<< $(rm x)`, `ls 2> >(rm x)`, `exec rm x`, `exec 3>/etc/x`, `ls >| /etc/x`,
		`ls &> /etc/x`, `ls >& /etc/x`, `ls &>> /etc/x`, `ls > output/../../../../../../../x`, `ls > sym/x`, `ls > dangling`, `ls > $X`, `ls > "$HOME/x"`, `ls >/dev/sda`, `ls > /proc/self/mem`, `cat < /dev/tcp/h/1`,
		`ls 3<> /etc/x`, `X=ls; X=rm; $X x`, `false || X=rm; $X x`, `X=ls $X rm`, `$(cat a.txt) x`, `"$(cat a.txt)" x`, "`cat a.txt` x", `a=rm b=x; $a $b`, `ls() (rm x); ls`,
		`find . -exec ls {} \; -exec rm {} +`, `find . -ok rm {} \;`, `find . -delete`, `find . -fprintf /etc/x a`, `find . -fls /etc/x`, `find . $X`, `find . -okdir rm {} \;`, `find . -exec {} \;`, `find . -name "*" -exec find . -delete \;`,
		`/bin/ls;/bin/rm x`, `../../../../../../bin/rm x`, `./link-rm x`, `.//ls`, `bash -c ls`, `python3 -c 1`, `env ls`, `xargs ls`, `eval ls`, `command ls`, `exec ls`, `source a.txt`, `jobs -x ls`, `hash ls`, `kill 1`, `/bin/echo a`, `env true`, `echo a > /etc/x`, `cd /etc; echo x > passwd`, `export PATH=.; ls`, `printf -v PATH x`, `read LD_PRELOAD < a.txt`, `mapfile -C ls x`, `test -v "a[$(rm x)]"`, `declare -n x=PATH; x=.`, "ls\n\n\nrm x", "ls \\\n; rm x", `ls 'a'; 'r'm x`,
		`LD_PRELOAD=./x.so ls`, `BASH_ENV=x ls`, `PS4='$(rm x)' ls`, `SHELLOPTS=xtrace ls`, `ls "${x:-` + "`rm x`" + `}"`, `declare -x PATH=.`, `ls $[x=$(rm x)]`, `((x=$(rm x)))`, `x=1 y=$(rm x) ls`, `ls $(< $(rm x))`,
	},
	"denyonly": {
		`rg -z x a.txt`, `rg --search-zip x`, `rg --search x`, `tar -cf a.tar -T a.txt`, `tar --files-from=a.txt -cf a.tar`, `gcc @a.txt`, `nm --plugin=./x.so a`, `ar --plugin ./x.so t a.a`, `javac @a.txt`, `mypy @a.txt`, `file -z a`, `curl --ntlm-wb x`, `ip -batch a.txt`, `ip netns exec x rm y`, `go tool link -extar=./x a.o`, `jobs -x rm x`, `npm install --onload-script=./x.js`, `strace --env=LD_PRELOAD=./x.so ls`, `zip -lf /etc/x a.zip b`, `groff -l a`, `ld --error-handling-script=./x a.o`, `objcopy a.o /etc/x`,
		`env -i rm x`, `env A=1 -- rm x`, `env --split-string='rm x'`, `nice -n 5 rm x`, `nice -5 rm x`, `ionice -c2 -n0 rm x`, `chrt -f 1 rm x`, `nohup nice timeout 1 rm x`, `timeout --signal=9 5 rm x`, `stdbuf --output=0 rm x`,
		`taskset 1 rm x`, `unshare --map-root-user --fork rm x`, `nsenter -t 1 -m rm x`, `chroot / rm x`, `setarch x86_64 -R rm x`, `ltrace rm x`, `valgrind rm x`, `xargs rm < a.txt`, `echo x | xargs -I % sh -c 'rm %'`,
		`printf 'rm x' | sh`, `echo rm x | bash`, `cat evil.sh | sh`, `sh < evil.sh`, `sh evil.sh`, `bash evil.sh`, `bash -c "$X"`, `bash -c 'bash -c "rm x"'`, `sh -ec 'rm x'`, `bash -c -e 'rm x'`, `bash -c '"$0" x' rm`, `bash -c '$1 x' _ rm`,
		`source evil.sh`, `. evil.sh`, `eval rm x`, `eval "$(echo rm x)"`, `builtin eval 'rm x'`, `command eval 'rm x'`, `command rm x`, `exec rm x`, `exec -c rm x`, `find . -exec sh -c 'rm "$@"' _ {} +`, `parallel rm ::: x`, `echo x | parallel rm`, `parallel ::: 'rm x'`,
		`busybox sh -c 'rm x'`, `watch 'rm x'`, `watch find . -delete`, `ssh h -o ProxyCommand='rm x'`, `rsync -e 'rm x' a b`, `rsync --delete a b`, `tar xf a --to-command='rm x'`, `tar --use-compress-program='rm x' -cf a b`, `tar c --remove-files -f a b`,
		`awk -f x.awk`, `awk 'BEGIN{system("rm x")}'`, `gawk '@load "x"'`, `awk 'BEGIN{f="system"; @f("rm x")}'`, `awk "BEGIN{$X}"`, `awk 'BEGIN { print "x" | "rm" }'`, `awk 'BEGIN{print "a" > "/etc/x"}'`, `sed -n -e '1!{e rm x' -e '}'`, `sed "$X" a.txt`, `sed '1,/x/{s/a/b/e}' a`, `sed --expression='e rm x' a`, `sed 's,a,b,w/etc/x' a`, `sed 'w /etc/x' a`,
		`perl -ne 'unlink' a`, `perl -lne 'system("rm x")' a`, `perl -0777 -pe 1 a`, `perl -CSe 1`, `perl -Mx=y a`, `perl < evil.sh`, `ruby -e 1`, `ruby -rsocket -e 1`, `php -r 1`, `lua -e 1`, `python3 -Bc 1`, `python3 -m timeit x`, `python3 < evil.sh`, `python3 script.py`, `python3 /dev/stdin <<< x`, `node -pe 1`, `node --eval=1`, `node --print 1`, `node <<< 1`, `node -r ./x.js app.js`, `osascript -e x`,
		`vim -c ':!rm x'`, `ex -sc '!rm x'`, `ed a.txt`, `less '+!rm x' a`, `man -P 'rm x' ls`, `git -c alias.x='!rm x' x`, `git config core.pager 'rm x'`, `git config --global alias.x '!rm x'`, `git rebase -x 'rm x' main`, `git difftool -x 'rm x'`, `git clone ext::rm`, `git clone -u 'rm x' a`, `git filter-branch --tree-filter 'rm x'`, `git submodule foreach find . -delete`, `git grep -Orm x`, `git st`, `git fetch --upload-pack='rm x' .`, `git archive --remote=x --exec='rm x' HEAD`,
		`make SHELL=./ls`, `make X='$(shell rm x)'`, `make CC='rm x'`, `make -f - < a`, `make -C /tmp/evil`, `sort --compress-program=./ls a`, `sort --compress-prog='rm x' a`, `split --filter='rm x' a`, `zip -TT 'rm x' a b`, `zip a b -T --unzip-command='rm x'`, `rg --pre 'rm x' a`, `rg --pre=rm a`, `fd -x rm`, `fdfind --exec rm`, `wget --use-askpass=./ls x`, `curl x`, `dd if=a of=b`, `sqlite3 a.db '.shell rm x'`, `psql -c '\! rm'`, `gdb -x evil.sh`, `tmux new 'rm x'`, `screen -dm rm x`, `at now`, `crontab a`, `systemd-run rm x`,
		`cp /bin/rm ./x; ./x y`, `ln -s /bin/rm y && ./y x`, `cat /bin/rm > y`, `install /bin/rm y`, `./link-rm x`, `./ls`, `$'rm' x`, `RM x`, `ru''nuser -c 'rm x'`, `su -c 'rm x'`, `flock l sh -c 'rm x'`, `script -c 'rm x'`, `hash -p /bin/rm ls`, `enable -f x y`, `alias ls=rm`, `alias x='rm y'`, `trap 'rm x' INT`, `trap "$X" INT`, `mapfile -C 'rm x' a`, `complete -C 'rm x' y`, `compgen -W '$(rm x)'`, `complete -F f x`, `bind -x '"a":rm'`, `PROMPT_COMMAND='rm x'`, `fc -s`,
		`f() { rm x; }; export -f f; bash -c f`, `set -a`, `set -o posix`, `set -k`, `shopt -s dotglob`, `shopt -s expand_aliases`, `read PATH <<< .`, `printf -v PATH .`, `export "$X"`, `declare "$X=1"`, `declare -n r='a[$(rm x)]'`, `local -i x='a[$(rm x)]'`, `x=1; read x; ((x))`, `let x=$(cat a.txt)`, `f() { (( $1 )); }; f "$X"`, `[ -v "$x" ]`, `[ "$a" "$b" ]`, `test $x -eq 1`, `wait -p 'a[$(rm x)]'`, `unset "$x"`, `ls $((` + "`cat a.txt`" + `))`, `mapfile a; echo ${a[b]}; b='x[$(rm y)]'; echo ${a[b]}`,
		`npx rm x`, `npm exec rm x`, `npx -c 'rm x'`, `npm config set script-shell ./x`, `npm run x --script-shell=./ls`, `go build -ldflags=-extld=./ls .`, `go env -w GOFLAGS=-toolexec=rm`, `go test --exec=rm ./...`, `cargo --config x=y run`, `xdg-open x`, `uniq a /etc/x`, `tee /usr/x`, `mkdir /etc/x`, `ln -s /etc/passwd /etc/x`, `cp -t /etc a`, `cp --target-directory=/etc a`, `cp --target=/etc a`, `mv -t /etc a`, `patch /etc/x a`, `truncate -s0 /etc/x`, `tar cf /etc/x a`, `gzip /etc/x`, `sed -i s/a/b/ /etc/x`, `tree -o /etc/x`, `git clone a /etc/x`, `git diff --outp=/etc/x`, `git bundle create /etc/x HEAD`, `split a /etc/x`,
	},
	"dev": {
		`set  -- true; for i in a b; do "$1" x; set  -- rm; done`, `s"et" -- true; for i in a b; do "$1" x; \se"t" -- rm; done`, `set -- true rm; for i in a b; do "$1" x; sh\ift; done`,
		`cd /etc && tee x < a.txt`, `cd sym; touch x`, `cd "$X" && touch y`, `cd ../../../../../..; touch x`, `cp .env /tmp/x`, `cat a.txt .env`, `head -n1 ./.env`, `grep x ./.en?`, `cat .e*`, `cat $(echo .env)`, `f=.env; cat "$f"`, `for f in .env; do cat $f; done`, `echo .env | xargs cat`, `find . -name .env -exec cat {} \;`, `cat $(find . -name '.env')`, `find . -name '.e*' | xargs cat`, `cat < .env`, `cat "$X"`, `while read -r f; do cat "$f"; done < a.txt`, `tar cf - .env`, `tar czf a.tgz -C . .env`, `cat /etc/shadow`, `cat ~/.ssh/id_rsa`, `diff .env a.txt`, `sort .env`, `cat sym/passwd`, `cat .//.env`, `cat {a.txt,.env}`, `cat .git/../.env`,
		`echo x > .env`, `echo x >> .git/hooks/pre-commit`, `tee .git/config < a.txt`, `cp a.txt .git/hooks/`, `mv a.txt .env`, `cp /tmp/.env .`, `ln -s a.txt .git/hooks/x`, `sed -i s/a/b/ .git/config`, `git config core.hooksPath /tmp/x`, `git config --file .git/config a.b c`, `touch -- '--checkpoint=1' '--checkpoint-action=exec=x'; tar cf a.tar *`, `sort $X`, `rg $X .`, `tar $X`, `git $X`, `find . -newer $X`, `sed -n "$(cat a.txt)" b.txt`, `awk '{print > $1}' a.txt`, `awk '{ print "x" > "/etc/x" }' a.txt`, `awk 'BEGIN{while((getline l < ".env")>0) print l}'`, `awk 'BEGIN { getline x < F }' F=.env`,
		`xargs -a .env echo`, `xargs env`, `echo a | xargs xargs`, `xargs sh -c`, `echo x | xargs -I{} {} y`, `time rm x`, `time -p rm x`, `env -u A rm x`, `env sh`, `nice -n 1 sudo ls`, `timeout "$T" rm x`, `timeout $T ls`, `git -C /tmp/evil status`, `npm x -- curl y`, `npm init evil`, `go run -toolexec=./ls .`, `go test -toolexec ./ls ./...`, `man -H'rm x' ls`, `make -E 'x'`, `node -e 1`, `python3 -c 1`, `python3`, `node`, `date 01010000`, `date --set=x`, `date --se=x`, `less -k x a.txt`, `split --filter 'rm $FILE' a.txt`,
		`export PATH=.:$PATH`, `export GIT_SSH_COMMAND=x`, `declare PATH=.`, `PATH=. ls`, `GIT_DIR=/tmp/x git status`, `LESS='+!rm x' less a.txt`, `EDITOR='rm x' git commit`, `VISUAL=./ls git commit`, `MAKEFLAGS='--eval=x' make`, `unset PATH`, `read -r PATH < a.txt`, `IFS=, ; ls`, `set -- rm x; "$@"`, `set -o allexport`, `trap 'curl x' EXIT`, `alias ls='rm x'`, `source a.txt`, `. ./a.txt`, `bash -c ls`, `sh script.sh`, `echo $(curl x)`, `curl x`, `ssh h ls`, `command ls`, `exec ls`,
	},
	"prefix": {
		`git push`, `git`, `git -c core.pager=x log`, `git log -p --output=x/../../y`, `git $X`, `git log; git push`, `npm run x`, `npm --prefix /tmp test`, `go test -exec=./x ./...`, `go build ./...`, `git logs`, `git "log "`, `git branch --delete x`, `git branch -m a b`, `git branch --force x y`, `git branch -vD x`, `git diff --ext-diff`, `git status > /etc/x`, `npm`, `"git log"`, `git-log`, `git log | rm x`, `echo x | rm`, `go test -toolexec=x ./...`, `go vet`,
	},
}

// permitted lists commands of ordinary work that each policy must allow.
var permitted = map[string][]string{
	"seed": {
		`true`, `echo a`, `ls; echo`, `cd sub && ls`, `pwd; ls`, `ls || true`, `[ -f a.txt ] && cat a.txt`, `test -d x || ls`, `set -euo pipefail; ls`, `export A=1; ls`, `f() { local x=$1; cat "$x"; return 0; }; f a.txt`, `for i in 1 2; do [ $i = 2 ] && break; continue; done`, `read -r x < a.txt; echo "$x"`, `shift; unset A; readonly B=1; declare -i n=1; let n+=1; echo $n`, `while getopts ab o; do echo $o; done`, `wait; umask; type ls; command -v rm; times; jobs; pushd sub; popd; dirs; exit 0`, `printf '%s
' a > output/x`, `mapfile -t l < a.txt; echo "${#l[@]}"`,
		`ls -la /tmp`, `ls | grep rm`, `grep 'rm -rf /' a.txt`, `grep "a;b" f`, `cat a.txt | grep -c x`, `ls 2>&1 | grep x`, `ls >/dev/null 2>&1`, `ls &> /dev/null`, `ls >> /tmp/log`, `ls > output/list`, `ls > ./output/x`, `! grep x a.txt`, `for f in a.txt b.txt; do cat $f; done`, `for f in *.txt; do cat "$f"; done`, `while grep -q x a.txt; do ls; done`,
		`if ls a.txt; then cat a.txt; else ls; fi`, `case a in a) ls;; *) cat a.txt;; esac`, `find . -type f -name "*.go"`, `find . -name '*.txt' -exec cat {} +`, `find . \( -name a -o -name b \) -print`, `cat <<EOF` + "\nrm x; sudo y\nEOF", "cat <<'E' | grep rm\nrm x\nE", `cat <<< "rm x"`, `ls ~`, `ls "$HOME"`, `ls ${HOME}/x`, `ls $((1+2))`, `x=1; ls $x`, `{ ls; cat a.txt; }`, `(ls; cat a.txt) | grep x`, `ls & cat a.txt`, "ls # rm x", `ls \; rm`, `grep -E "rm|sudo" *.txt`, `'ls' -l`, `"ls"`, `l's'`, `\ls`, `/usr/bin/cat a.txt`, `time ls`, `time -p ls`, `grep -r "chmod" . --include='*.go'`, `cat a.txt > /tmp/sudo`, `L=ls; $L -l`, `f() { ls "$1"; }; f a.txt`, `ls a.txt && cat a.txt || ls`, `grep foo <(ls)`, `cat $(ls *.txt)`, `LANG=C LC_ALL=C grep x a.txt`, `grep $'a\tb' a.txt`, `ls -- -x`,
	},
	"denyonly": {
		`echo rm`, `echo "rm -rf /"`, `which rm`, `man rm`, `ls -l /bin/rm`, `git rm x`, `docker rm x`, `echo 'sudo make install' > notes.txt`, `bash -c 'ls -l'`, `sh -c 'echo "$1"' _ rm`, `bash <<'E'` + "\nls\nE", `echo ls | sh`, `env FOO=1 make`, `timeout 5 sleep 1`, `nohup make &`, `sudoku`, `nice -n 10 make -j4`, `xargs -n1 echo < a.txt`, `find . -name '*.o' -print`, `awk '/rm/{print $2}' a.txt`, `awk -F: '{s+=$1} END{print s}' a.txt`, `awk '{print $1 "|" $2}' a.txt`, `awk '/a|b/' a.txt`, `sed -n '/a/,/b/p' a.txt`, `sed -e 's/rm/mv/g' -e '/x/d' a.txt`, `sed 's|a/b|c|g; s/x/y/2' a.txt`, `sed '$!N;P;D' a.txt`, `sed -i.bak 's/a/b/' a.txt`, `perl -v`, `python3 --version`, `node -v`,
		`git commit -m "rm old files; sudo not needed"`, `git log --grep='rm'`, `git -c color.ui=never status`, `git config user.name "A B"`, `git clone https://example.com/x.git`, `git fetch --all`, `make test CFLAGS=-O2`, `cmake -B build -S .`, `npm ci && npm run build`, `npx tsc --noEmit`, `go build -o /tmp/x ./...`, `cargo build --release`, `pip install -r requirements.txt`, `set -euo pipefail; ls`, `trap 'echo bye' EXIT`, `trap - INT`, `x=$(date +%s); echo $((x+1))`, `i=0; while [ $i -lt 3 ]; do i=$((i+1)); done`, `for i in 1 2 3; do echo $((i*2)); done`, `for ((i=0;i<3;i++)); do echo $i; done`, `a=(1 2 3); echo ${a[1]} ${#a[@]} ${a[@]}`, `n=5; [[ $n -gt 3 ]] && echo yes`, `declare -A m; m[x]=1; echo ${m[x]}`, `read -r a b <<< "1 2"; echo $a`, `echo ${x:-default} ${x%.txt} ${x//a/b}`, `printf '%s\n' "$x"`, `printf -v s '%03d' 7; echo $s`, `test -f a.txt && echo y`, `[ -n "$x" ] && [ "$x" != y ] && echo z`, `[[ -f a.txt && $x == *.txt ]]`, `[[ $x =~ ^[a-z]+$ ]]`, `let i=1+2`, `let "i += 1"`, `ls -la | awk '{print $5}' | sort -n | tail -1`, `eval 'echo hi'`, `f() { local x=$1; echo "$x"; }; f a`, `export FOO=bar; echo $FOO`, `wait`, `kill %1`, `ulimit -n`, `umask 022`, `type rm`, `command -v rm`, `cat <<-E > out.txt` + "\n\trm $x\n\tE", `tee out.txt <<< "chmod +x"`, `diff <(ls a) <(ls b)`, `exec 3> out.txt; echo a >&3; exec 3>&-`, `coproc cat`, `mkdir -p a/b/{c,d}`, `touch {1..5}.txt`, `cp a.txt /tmp/`, `mv a.txt c.txt`, `ln -s a.txt d.txt`, `tar czf /tmp/a.tgz .`, `tar tf a.tgz`, `zip -r a.zip src`, `PAGER=cat git log`, `GIT_PAGER=cat git diff`, `rg -n --hidden -g '!.git' rm`, `sort -t, -k2 -n a.txt -o b.txt`, `date -u +%FT%TZ`, `date -d yesterday`, `watch -n1 ls`, `less a.txt`, `vim --version`, `ssh host ls`, `systemctl status x`,
	},
	"dev": {
		`for b in $(git branch --format='%(refname:short)'); do echo "$b $(git rev-list --count $b)"; done`, `for b in a b; do n=$(git rev-list --count $b); echo $n; done`, `x=ab; echo "${x/}" "${x/b}" "${x//a/}"`, `run() { "$@"; }; run echo x`, `set -e; echo $HOME; set +e`, `set -euo pipefail; for f in a b; do echo "$f"; done`,
		`git diff HEAD~1 -- main.go`, `git log --oneline --author="rm" | head -5`, `git checkout -b feature/rm-old`, `git stash && git pull --rebase && git stash pop`, `git commit -am "remove curl | sh"`, "git commit -F - <<'E'\nrm -rf everything\nE", `git show HEAD:main.go | head -n 20`, `git diff $(git merge-base main HEAD)`, `git --no-pager log -1`, `git -C . status`, `git blame -L 1,5 main.go`, `git tag -l 'v*'`, `git push origin HEAD`, `git rev-parse --short HEAD`, `git remote -v`, `git grep -n TODO`, `git config --get user.name`, `git rebase main`, `git cherry-pick abc`, `git reset --hard HEAD`, `git clean -n`,
		`go test -run 'TestA|TestB' -count=1 ./...`, `go test -race -cover ./... 2>&1 | tail -20`, `go build ./... && go vet ./...`, `go mod tidy`, `go run . --flag x`, `go test -v ./... | grep -E '^(---|FAIL)'`, `CGO_ENABLED=0 GOOS=linux go build -o out/app .`, `go build -ldflags "-s -w -X main.version=1.0" .`, `go list -f '{{.Dir}}' ./...`, `npm install --save-dev jest`, `npm run lint -- --fix`, `npm run build && npm test`, `NODE_ENV=test npm test`, `node --test`, `node app.js --port 3000`, `python3 -m pytest -q tests`, `python3 -m venv .venv`, `python3 -u script.py < a.txt`, `make -j4 all`, `make VERSION=1.2 dist`, `make -n`,
		`for f in *.txt; do echo "$f: $(wc -l < "$f")"; done`, `for f in $(ls *.txt); do head -1 "$f"; done`, `while IFS= read -r line; do echo "$line"; done < a.txt`, `find . -name '*.go' | while read -r f; do wc -l "$f"; done`, `find . -name '*.go' | xargs wc -l`, `find . -name '*.txt' -print0 | xargs -0 -n 10 grep -l x`, `find src -type d -empty`, `find . -type f -name '*.go' -exec wc -l {} +`, `cat $(find . -name '*.go')`, `grep -rn "rm -rf" --include='*.sh' . | head`, `ls | wc -l`, `cat a.txt | tr a-z A-Z > upper.txt`, `echo "curl http://x" >> notes.txt`, `cut -d: -f1 a.txt | sort -u`, `n=$(wc -l < a.txt); echo $n`, `test -d out || mkdir out`, `[ -f a.txt ] && cat a.txt`, `cp -r src /tmp/src`, `mv a.txt out/`, `sed -i 's#http://#https://#g' a.txt b.txt`, `sed -n 's/.*"version": "\(.*\)".*/\1/p' package.json`, `awk 'NR>1 {print $1, $3}' a.txt`, `awk -v n=3 '$1 > n { c++ } END { print c }' a.txt`, `awk 'BEGIN{OFS=","} {$1=$1; print}' a.txt > out.csv`, `awk '{ print $1 > "out.txt" }' a.txt`, `tar -xzf a.tgz`, `tar -czvf /tmp/b.tgz --exclude='*.o' .`, `diff -u a.txt b.txt`, `split -l 100 a.txt part_`, `env LANG=C sort a.txt`, `timeout 10s make test`, `time go build ./...`, `nice make`, `export FOO=1 && make`, `set -e; go build ./...; go test ./...`, `date +%Y-%m-%d`, `printf '%s\n' a b c`, `echo {1..3}`, `echo "$(date): done"`, `touch out.txt && echo ok`, `read -r x < a.txt; echo "$x"`, `x=5; echo $((x * 2))`, `i=0; let i=i+1`, `trap 'echo done' EXIT; make`, `alias ll='ls -l'`, `echo 'PATH=.' > notes.txt`, `cd . && ls`, `(cd src && go test ./...)`, `mkdir -p out; cd out; touch x`, `cat /usr/share/dict/words | head`, `ls /usr/lib`, `man git`, `uniq -c a.txt`, `head -c 100 a.txt`, `tail -f a.txt`, `echo a | tee out.txt`, `tee out.txt > /dev/null <<< x`, `rg --files | head`, `rg -l 'foo(' -F src`, `rg -e --pre .`, `declare -i n=5; echo $n`, `unset FOO`, `true; false; echo $?`, "cat > out.go <<'EOF'\npackage main // rm -rf\nEOF", `echo "$RANDOM"`,
	},
	"prefix": {
		`git status -sb`, `git --no-pager log -5`, `git diff HEAD~1`, `git branch`, `git branch -a`, `git branch --show-current`, `npm test`, `npm test -- -u`, `go test ./...`, `go test -run X -v ./pkg`, `echo rm`, `git log | echo x`, `git log > out.txt`, `git diff > x.patch`, `echo $(git status)`,
	},
}

func TestVariations(t *testing.T) {
	policies, _ := corpus(t)
	ws := workspace(t, furnished)
	if err := os.MkdirAll(filepath.Join(ws, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	n := variationsFile(t, policies, ws)
	for want, table := range map[bool]map[string][]string{false: refused, true: permitted} {
		for id, commands := range table {
			p := policies[id].compile(t, ws)
			for _, text := range commands {
				n++
				v := p.Decide(command.Request{Command: text, Dir: ws})
				checkVerdict(t, v)
				if v.Allowed != want {
					t.Errorf("%s: %s\nallowed %v, want %v; %s: %s", id, text, v.Allowed, want, v.Rule, v.Reason)
				}
			}
		}
	}
	t.Logf("%d variations", n)
}

// variationsFile tests testdata/variations.txt: a line is + (allow) or -
// (deny), the policy, a bar and the command, in which ⏎ is a newline.
func variationsFile(t *testing.T, policies map[string]row, ws string) (n int) {
	t.Helper()
	data, err := os.ReadFile("testdata/variations.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(ws, ".env"), filepath.Join(ws, "envlink")); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		id, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "|")
		text = strings.ReplaceAll(text, "⏎", "\n")
		v := policies[id[1:]].compile(t, ws).Decide(command.Request{Command: text, Dir: ws})
		checkVerdict(t, v)
		if want := id[0] == '+'; v.Allowed != want {
			t.Errorf("%s: %s\nallowed %v, want %v; %s: %s", id[1:], text, v.Allowed, want, v.Rule, v.Reason)
		}
		n++
	}
	return n
}
