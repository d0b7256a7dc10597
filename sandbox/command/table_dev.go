package command

// devTools are the tools of developers other than git.
const devTools = `
go | - sub! | C=D
go build,go install,go list,go get,go test,go generate,go fmt,go fix | - .* | o=w toolexec=x exec=x vettool=x overlay=r modfile=r pkgdir=w C=D ldflags=g gcflags=g asmflags=g gccgoflags=g compiler=. tags=. mod=. p=. buildmode=. pgo=r covermode=. coverpkg=. buildvcs=. installsuffix=. f=. json race v x n a i work trimpath e deps test m u t d msan asan cover outputdir=w coverprofile=w cpuprofile=w memprofile=w blockprofile=w mutexprofile=w trace=w run=. skip=. bench=. benchtime=. count=. cpu=. parallel=. timeout=. fuzz=. fuzztime=. fuzzminimizetime=. list=. shuffle=. vet=. memprofilerate=. blockprofilerate=. short failfast benchmem c fullpath artifacts
go run | - f | exec=x toolexec=x overlay=r modfile=r C=D ldflags=g gcflags=g asmflags=g gccgoflags=g compiler=. tags=. mod=. p=. buildmode=. pgo=r covermode=. coverpkg=. race v x n a work trimpath msan asan cover pkgdir=w installsuffix=. buildvcs=.
go vet | - .* | vettool=x toolexec=x exec=x C=D tags=. mod=. json c=. v n x overlay=r modfile=r ldflags=g gcflags=g asmflags=g gccgoflags=g
go env | - .* | w:! u:! json changed
go mod,go work,go doc,go version,go help,go bug,go clean,go telemetry | - .* | C=D o=w modcache cache testcache json m=. u all src short cmd v e c x
go tool | - sub | n C=D modfile=r
go tool pprof | - .* | http=! output=w o=w tools=! source_path=. top text list=. svg png dot web:! proto
go tool cover,go tool trace,go tool nm,go tool objdump,go tool dist,go tool vet,go tool asm,go tool compile,go tool link,go tool pack,go tool buildid,go tool cgo,go tool test2json,go tool addr2line,go tool fix,go tool doc,go tool covdata | - .* | o=w extld=! toolexec=! html=r func=r mode=. http=! outdir=w extar=! cpuprofile=w memprofile=w blockprofile=w mutexprofile=w traceprofile=w linkobj=w asmhdr=w importcfg=r symabis=r pgoprofile=r embedcfg=r coveragecfg=r pkgcfg=r i=r
gofmt,goimports,gofumpt,golines | - .* | cpuprofile=w w l d e s r=. local=. srcdir=.
staticcheck,golangci-lint,gopls,dlv,gdlv,govulncheck,gotestsum,ginkgo,mockgen,stringer,protoc,buf | .* | exec=x toolexec=x plugin=! vettool=x raw-command:! post-run-command=c
cargo | sub | config=! C=D Z=. color=. q v
cargo run,cargo build,cargo test,cargo check,cargo clippy,cargo doc,cargo bench,cargo install,cargo add,cargo remove,cargo new,cargo init,cargo update,cargo fmt,cargo tree,cargo publish,cargo search,cargo clean,cargo fetch | .* | config=! target-dir=w manifest-path=r C=D out-dir=w runner=! root=w
rustc | a* | o=w C=! out-dir=w Z=! L=. edition=. crate-type=. crate-name=. extern=. cfg=. emit=. target=. O g test V:q version:q
javac,kotlinc,scalac | - a* | d=w cp=r classpath=r processor=! processorpath=! J?! sourcepath=r h=w s=w version:q plugin=!
pip,pip3 | sub | python=x cache-dir=w log=w config-settings=. isolated q v V/version:q
pip install,pip3 install,pip download,pip wheel | .* | r/requirement=r c/constraint=r t/target=w d/dest=w w/wheel-dir=w e/editable=. root=w prefix=w src=w log=w global-option=. config-settings=. i/index-url=. U/upgrade user pre
gem,composer,bower,grunt,gulp,lerna,nx,turbo,webpack,vite,rollup,esbuild,tsc,eslint,prettier,jest,vitest,mocha,ava,cypress,playwright | .* | config=. c=. resolve-plugins-relative-to=. rulesdir=. r/require=f o=. outDir=w outfile=w outdir=w
pytest,py.test,black,isort,ruff,flake8,mypy,pylint | a* | c=r rootdir=r p=. pdbcls=! basetemp=w junitxml=w o=. config=r python-executable=x output-file=w
terraform,tofu,pulumi,ansible,ansible-playbook,vagrant,packer,helm,kubectl,oc,k9s,minikube,kind,gcloud,aws,az | .* | kubeconfig=! plugin-dir=! post-renderer=x e=. i=. exec-command=!
`

// otherTools reach the network or other machines.
const otherTools = `
ssh,slogin,autossh | .* | o=! F=! E=w S=. i=r I=! l=. p=. L=. R=. D=. J=. W=. w=. b=. B=. c=. e=. m=. O=. Q:q V:q P=!
scp,sftp,pscp,psftp | .* | S=! o=! F=! D=! b=s i=r P=. c=. J=. l=. r p q v C
rsync | r*w | e/rsh=x rsync-path=x password-file=r files-from=r exclude-from=r include-from=r exclude=. include=. f/filter=. T/temp-dir=w log-file=w write-batch=w only-write-batch=w read-batch=r backup-dir=w partial-dir=. compare-dest=r copy-dest=r link-dest=r daemon:! config=! M/remote-option=! port=. timeout=. bwlimit=. B=. suffix=. chmod=. chown=. max-size=. min-size=. info=. debug=. out-format=. log-file-format=. delete:~rm delete-before:~rm delete-during:~rm delete-after:~rm delete-excluded:~rm delete-delay:~rm del:~rm remove-source-files:~rm a v z r n u P h progress stats early-input=r
curl | .* | o/output=w O/remote-name output-dir=w K/config=! D/dump-header=w c/cookie-jar=w trace=w trace-ascii=w stderr=w T/upload-file=r E/cert=r key=r cacert=r capath=r b/cookie=. d/data=. data-binary=. data-raw=. data-urlencode=. F/form=. H/header=. X/request=. A/user-agent=. e/referer=. u/user=. x/proxy=. m/max-time=. w/write-out=. r/range=. libcurl=w engine=! ntlm-wb:! etag-compare=r crlfile=r proxy-cacert=r proxy-cert=r proxy-key=r ssl-sessions=w variable=. data-ascii=. json=. form-string=. url-query=. proxy-header=. q/disable etag-save=w hsts=w alt-svc=w connect-timeout=. retry=. resolve=. unix-socket=. netrc-file=r s S L f I k v i g V/version:q
wget,wget2 | .* | O/output-document=w o/output-file=w a/append-output=w P/directory-prefix=w e/execute=! use-askpass=x config=! i/input-file=r load-cookies=r save-cookies=w post-file=r body-file=r ca-certificate=r certificate=r private-key=r warc-file=w egd-file=r crl-file=r hsts-file=w U=. t=. T=. w=. Q=. l=. A=. R=. D=. I=. X=. B=. header=. post-data=. rejected-log=w q c N r np nd nH k p S V/version:q
aria2c,axel,lftp,ftp,tftp,httpie,http,https,xh | .* | on-download-complete=x on-download-start=x on-bt-download-complete=x conf-path=! c=! e=! d/dir=w o/out=w output=w
systemctl,service,init,shutdown,reboot,halt,poweroff,telinit,loginctl,machinectl,journalctl | .* | pager=! vacuum-size=! H=! M=!
hg,svn,bzr,cvs,fossil,darcs,jj | .* | config=! e=! config-option=! diff-cmd=x editor-cmd=x merge-cmd=x R=d cwd=d d=! z=.
gpg,gpg2 | .* | o/output=w homedir=! keyring=! photo-viewer=x exec-path=! agent-program=x dirmngr-program=x pinentry-program=x options=! log-file=w
ffmpeg,ffplay,convert,magick,mogrify,identify,gs,pdftk,pandoc,inkscape,libreoffice,soffice,latex,pdflatex,xelatex,lualatex,tex | .* | - filter=x F=x lua-filter=s L=s pdf-engine=x shell-escape:! enable-write18:! dNOSAFER:! extract-media=w output=w o=w
ip | - sub | b/batch=s n/netns=. f/family=. a/all d j p s o br c
kill,killall,pkill,pgrep,ps,top,htop,free,uptime,id,whoami,uname,hostname,df,netstat,ping,host,nslookup,echo,printf,true,false,test,sleep,seq,yes,basename,dirname,pwd,printenv,tty,arch,nproc,getent,groups,locale,expr,numfmt,tput,clear,reset,stty,tr,cal,locate,mlocate,plocate,which,whereis,type | t* |
`

// gitTools are git's sub-commands; git refuses others, which may be aliases.
const gitTools = `
git | sub! | C=D c=k git-dir=G work-tree=! exec-path?! config-env=! namespace=. super-prefix=. p/paginate P/no-pager no-replace-objects bare literal-pathspecs no-optional-locks list-cmds=. attr-source=. v/version:q h/help:q html-path:q man-path:q info-path:q
git reflog,git cat-file,git shortlog,git show-branch,git verify-commit,git verify-tag,git verify-pack,git patch-id,git diff-index,git diff-tree,git diff-files,git merge-tree,git range-diff,git whatchanged,git blame,git annotate,git fsck,git grep-blob,git stripspace,git get-tar-commit-id,git column,git cherry-mark,git ls-remote-refs,git help-all,git interpret-trailers-parse | y* | output=w ext-diff:! F/file=r trailer=. m=. u=. contents=r S=. format=. sort=. local-user=. points-at=. contains=. n=.
git rev-list,git rev-parse,git name-rev,git merge-base,git for-each-ref,git show-ref,git ls-tree,git cherry | y* |
git status,git branch,git tag,git describe,git ls-files,git check-ignore,git check-attr,git check-mailmap,git check-ref-format,git symbolic-ref,git count-objects,git version,git var | t* | output=w ext-diff:! F/file=r trailer=. m=. u=. contents=r S=. format=. sort=. local-user=. points-at=. contains=. n=.
git log | quiet y* | output=w no-index:R o/output-directory=w ext-diff:! O=y S=y G=y L=y U=y signature-file=r n/max-count=. skip=. since=. after=. until=. before=. author=. committer=. i g grep=. all-match invert-grep format=. pretty?. date=. oneline graph stat? shortstat numstat name-only name-status summary follow all branches? tags? remotes? reverse decorate? no-decorate abbrev? abbrev-commit first-parent merges no-merges topo-order date-order author-date-order full-history no-patch s diff-filter=. M find-renames? relative-date no-color color? z 0 1 2 3 4 5 6 7 8 9
git show,git diff,git format-patch | y* | output=w no-index:R o/output-directory=w ext-diff:! O=. S=. G=. n=. since=. until=. author=. grep=. format=. pretty=. L=. diff-filter=. U=. signature-file=r
git clean | .* | e/exclude=. d f/force i/interactive n/dry-run q/quiet x X
git grep | . y* | O?! open-files-in-pager?! e=p f=r A=. B=. C=. m=. max-depth=. threads=. ext-grep:!
git mv,git restore,git checkout,git switch,git reset,git merge,git cherry-pick,git revert,git notes,git apply,git am,git gc,git prune,git repack,git pack-refs,git update-index,git update-ref,git update-server-info,git write-tree,git commit-tree,git read-tree,git checkout-index,git mktag,git mktree,git pack-objects,git unpack-objects,git index-pack,git replace,git rerere,git sparse-checkout,git fmt-merge-msg,git merge-file,git merge-index,git merge-one-file,git multi-pack-index,git commit-graph,git maintenance,git prune-packed,git quiltimport,git request-pull,git mailinfo,git mailsplit,git fast-import,git pull-request,git lfs,git flow,git interpret-trailers,git backfill,git refs,git pack-redundant,git unpack-file,git bugreport,git diagnose,git survey | .* | F/file=r t/template=r pathspec-from-file=r m/message=. author=. date=. C=. c=. S?. gpg-sign?. s=. strategy=. X=. directory=. exclude=. b=. B=. u?. cleanup=. trailer=. fixup=. build-fake-ancestor=w build-dir=w o/output-directory=w p
git add,git commit,git stage,git hash-object,git stash | y* | F/file=r t/template=r pathspec-from-file=r m/message=. author=. date=. C=. c=. S?. gpg-sign?. s=. strategy=. X=. directory=. exclude=. b=. B=. u?. cleanup=. trailer=. fixup=. build-fake-ancestor=w build-dir=w o/output-directory=w p
git rm | y* | cached:t r f n q pathspec-from-file=r
git remote | U* | t=. m=. mirror?.
git rebase | .* | x/exec=c onto=. s=. X=. S?. C=. whitespace=. i/interactive
git bisect start | .* | term-old=. term-new=. term-good=. term-bad=. no-checkout first-parent
git submodule | sub | q
git submodule foreach | c* | q recursive
git submodule add,git submodule update,git submodule set-url | U* | b=. name=. reference=r depth=. j=. f q recursive init remote
git config | @git-config | f/file=w blob=. global system local worktree e/edit:! get get-all get-regexp get-urlmatch add replace-all unset unset-all rename-section remove-section l/list t/type=. default=. z show-origin show-scope includes bool int path value=. comment=. all regexp fixed-value
git clone | U w | u/upload-pack=x c/config=k template=! separate-git-dir=w reference=r reference-if-able=r o/origin=. b/branch=. j/jobs=. depth=. shallow-since=. shallow-exclude=. server-option=. bundle-uri=. filter=. recurse-submodules?. recursive bare mirror n q v s l
git init,git init-db | w | template=! separate-git-dir=w b/initial-branch=. shared?. object-format=. ref-format=. q bare
git fetch,git pull,git ls-remote,git fetch-pack,git clone-pack,git push,git send-pack | U* | upload-pack=x exec=x o/server-option/push-option=. depth=. j=. refmap=. negotiation-tip=. filter=. s=. X=. sort=. shallow-since=. shallow-exclude=. receive-pack=x repo=. force-with-lease?. signed?. recurse-submodules=.
git archive | U* | o/output=w exec=x remote=! format=. prefix=. add-file=r add-virtual-file=. mtime=.
git bundle | . w .* | version=. q
git worktree | . w .* | b=. B=. reason=. f d detach lock
git difftool,git mergetool | ! | x/extcmd=x t/tool=! y
git filter-branch | .* | env-filter=c tree-filter=c index-filter=c parent-filter=c msg-filter=c commit-filter=c tag-name-filter=c setup=c subdirectory-filter=. d=w original=. state-branch=. prune-empty f
git help | .* | w/web:! m/man i/info a g
`
