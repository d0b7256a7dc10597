package command

// wrappers start the program that their operands name.
const wrappers = `
env | = x | u/unset=. i/ignore-environment S/split-string=S C/chdir=d 0/null v/debug a/argv0=. block-signal?. default-signal?. ignore-signal?. list-signal-handling help:q version:q
nice,ionice,choom | x | n/adjustment/classdata/adjust=. help:q version:q c/class=. p/pid=. P/pgid=. t/ignore u/uid=.
nohup | x | help:q version:q
timeout,gtimeout | . x | k/kill-after=. s/signal=. v/verbose foreground preserve-status p f help:q version:q
time | x | o/output=w f/format=. a/append p/portability v/verbose q/quiet help:q V/version:q
stdbuf | x | i/input=. o/output=. e/error=.
setsid | x | c/ctty f/fork w/wait
chrt | . x | a b d f i m o r p/pid T/sched-runtime=. P/sched-period=. D/sched-deadline=. v R m/max:q
taskset | . x | a/all-tasks p/pid c/cpu-list
numactl | x | i/interleave=. m/membind=. N/cpunodebind=. C/physcpubind=. p/preferred=. l s/show:q H/hardware:q
uclampset | x | m=. M=. a p/pid=. s/system R/reset-on-fork
prlimit | x | p/pid=. n/nofile?. c/core?. d/data?. e/nice?. f/fsize?. i/sigpending?. l/memlock?. m/rss?. q/msgqueue?. r/rtprio?. s/stack?. t/cpu?. u/nproc?. v/as?. x/locks?. y/rttime?. o/output=. noheadings raw
setpriv | x | clear-groups keep-groups init-groups groups=. inh-caps=. ambient-caps=. bounding-set=. no-new-privs rgid=. regid=. ruid=. reuid=. securebits=. pdeathsig=. selinux-label=. apparmor-profile=. reset-env d/dump:q list-caps:q
setarch,linux32,linux64,i386,x86_64 | x | B R F I L S T X Z 3 4gb v uname-2.6 list:q
xargs,gxargs | @xargs | 0/null a/arg-file=r d/delimiter=. E=. e?. I=. i?. replace?. L=. l?. max-lines?. n/max-args=. P/max-procs=. s/max-chars=. S=. J=. R=. o/open-tty p/interactive r/no-run-if-empty t/verbose x/exit process-slot-var=.
parallel | @parallel | j/jobs=. a/arg-file=r S/sshlogin=! sshloginfile=! P=. k/keep-order N=. n/max-args=. I=. d/delimiter=. C/colsep=. X m L=. l?. joblog=w results=w tmpdir=w tagstring=. t/verbose dry-run:q bar progress eta halt=. timeout=. retries=. delay=. wd=d basefile=! transferfile=! shebang:! pipe pipepart block=. tag ungroup q/quote r/no-run-if-empty env=. profile=! J=! rpl=! tmux:! fifo cat
flock | . x | c/command=c s/shared x/exclusive e u/unlock n/nonblock w/timeout=. wait=. E/conflict-exit-code=. F/no-fork o/close verbose
watch | c* | n/interval=. d/differences?. t g/chgexit e/errexit b/beep c/color p/precise x/exec w/no-wrap q/equexit=.
script | w | c/command=c q/quiet a/append e/return f/flush t/timing?w I/log-in=w O/log-out=w B/log-io=w T/log-timing=w m/logging-format=. E/echo=. o/output-limit=. force
chroot,direnv exec | d x | userspec=. groups=. skip-chdir
unshare | x | m/mount?. u/uts?. i/ipc?. n/net?. p/pid?. U/user?. C/cgroup?. T/time?. f/fork kill-child?. mount-proc?. map-user=. map-group=. map-users=. map-groups=. r/map-root-user c/map-current-user map-auto propagation=. setgroups=. R/root=d w/wd=d S/setuid=. G/setgid=. monotonic=. boottime=.
nsenter | x | t/target=. m/mount?. u/uts?. i/ipc?. n/net?. p/pid?. U/user?. C/cgroup?. T/time?. a/all r/root?d w/wd?d S/setuid=. G/setgid=. F/no-fork e/env Z follow-context
sudo | = x | A/askpass b/background B/bell C/close-from=. D/chdir=d E/preserve-env?. e/edit:! g/group=. H/set-home h/host=. i/login:! K k l/list:q n/non-interactive P p/prompt=. R/chroot=d r/role=. S/stdin s/shell:! t/type=. T/command-timeout=. U/other-user=. u/user=. V/version:q v/validate:q
doas | x | a=. C=! L n s:! u=.
pkexec | x | u/user=. disable-internal-agent keep-cwd version:q
su | .* | c/command=c session-command=c f l/login m p/preserve-environment P/pty s/shell=! g/group=. G/supp-group=. w/whitelist-environment=. help:q version:q
runuser | .* | c/command=c session-command=c u/user=! l/login s/shell=! g=. G=.
sg | . c* | c=c
capsh | .* | -:!
busybox,toybox | x | install:! list:q list-full:q
ld.so | x | library-path=! inhibit-rpath=. audit=! preload=! argv0=. list:q verify:q help:q version:q list-diagnostics:q list-tunables:q glibc-hwcaps-prepend=. glibc-hwcaps-mask=.
start-stop-daemon | ! | S/start:! K/stop b a/startas=! x/exec=! p/pidfile=. n/name=. u/user=. status:q
strace,ltrace | x | o/output=w e=. p/attach=. s=. S=. u/user=. E/env=e a=. b=. I=. O=. P=. X=. c C d f/follow-forks ff F h:q V:q i k n q r t tt T v w x y D DD n=. l=. A=.
perf stat,perf record,perf trace | x | e/event=. o/output=w p/pid=. a C/cpu=. r/repeat=. F/freq=. g c=. x=. pre=c post=c
valgrind | x | log-file=w xml-file=w callgrind-out-file=w massif-out-file=w db-command=c suppressions=r tool=.
catchsegv,unbuffer,rlwrap,fakeroot,proot,firejail,bwrap,torsocks,torify,proxychains,proxychains4,dbus-run-session,xvfb-run,aoss,padsp,optirun,primusrun,gamemoderun,eatmydata,cgexec,chpst,softlimit,envuidgid,setuidgid,pgrphack,chronic,ts,nocache,sem,errno,daemonize,daemon,dumb-init,tini,catatonit,s6-setsid,run0,systemd-inhibit,systemd-cat,ccache,distcc,sccache,icecc,heaptrack,rr,memusage,sotruss,reredirect,grc,aa-exec,coresched | X |
gosu,su-exec,rustup run | . x | install
faketime | . x | f m p=. exclude-monotonic
cpulimit | x | l/limit=. p/pid=. e/exe=. P/path=. b f z i q v
logsave | w x | a s v
ssh-agent | x | a=. c s D d k t=. E=. P=!
systemd-run | x | unit=. u=. p/property=! E/setenv=e uid=. gid=. nice=. working-directory=d slice=. r t/pty P/pipe S/shell:! user scope wait q G collect M/machine=! H/host=! on-calendar=. on-active=.
hyperfine | c c c c | w/warmup=. r/runs=. m/min-runs=. M/max-runs=. p/prepare=c s/setup=c c/cleanup=c export-json=w export-markdown=w export-csv=w S/shell=! N i/ignore-failure n/command-name=.
direnv | sub! |
asdf exec,mise exec,mise x,rtx exec,yarn exec,yarn node,pnpm exec | x | c/command=c r
uv run | x | with=. p/python=. m/module=. directory=d project=d script s isolated no-project env-file=r extra=. group=. package=. frozen locked no-sync
poetry | sub | C/directory=d P/project=d n q v
nix-shell | ! | run=c command=c p=. packages=.
docker,podman,nerdctl | sub | c/context=! H/host=! config=! D l=.
`

// groups are programs that are alike and have no options that matter: those that start what is not looked into, those with
// sub-commands, and those that start the program that follows.
const groups = `
scriptreplay,ttyrec,entr,dtach,abduco,lnav,runcon,watchexec,nodemon,reflex,air,fswatch,uvx,pipx,nix run,nix shell,nix develop,expect,at,batch,crontab,atd,anacron,yarn dlx,pnpm dlx,yarn create,pnpm create,yarn config,pnpm config,run-parts,openssl engine,pip config,pip3 config,xdg-open,open,sensible-browser,sensible-editor,sensible-pager,x-www-browser,xdg-email,editor,pager,see,run-mailcap,edit,xterm,gnome-terminal,konsole,alacritty,kitty,foot,urxvt,st,ip netns exec,ip vrf exec,git send-email,git imap-send,git daemon,git instaweb,git gui,git citool,git gitk,git web--browse,git shell,git hook,git for-each-repo,git upload-pack,git receive-pack,git upload-archive,git http-backend,git http-fetch,git http-push,git remote-ext,git remote-fd,git remote-http,git remote-https,git credential,git credential-store,git credential-cache,git cvsserver,git cvsimport,git cvsexportcommit,git svn,git p4,git archimport,git sh-i18n,git sh-setup,git fsmonitor--daemon,git scalar,git submodule--helper,git bisect--helper,git rebase--helper,git fast-export,git filter-repo | ! |
perf,pyenv,rbenv,nodenv,asdf,mise,rtx,rustup,uv,pipenv,pdm,hatch,bundle,conda,micromamba,rye,nix,ip netns,ip vrf,git bisect | sub |
pyenv exec,rbenv exec,nodenv exec,poetry run,pipenv run,pdm run,hatch run,bundle exec,conda run,micromamba run,rye run,bun x,git bisect run | x |
`

// freeBuiltinNames are builtins that start no program, run no code and write nothing that redirections do not
// say: they need no entry in an allow list.
const freeBuiltinNames = `: true false test [ echo printf cd pwd pushd popd dirs set shift export local readonly declare typeset let read mapfile readarray
getopts return break continue exit unset wait umask ulimit type jobs times shopt help caller`

// builtins are the builtins of bash; see bash(1), SHELL BUILTIN COMMANDS. They
// take no option after the first operand.
const builtins = `
:,true,false,break,continue,return,exit,logout,suspend,times,caller,dirs,fg,bg,kill,disown,help,type,ulimit,umask,pwd,echo | t* |
jobs,unalias,printf | t* | l n p r s x:! a v=n
cd,pushd | @cd | L P e @ n
popd | @popd |
test,[ | @test |
alias | A* | p
eval | @eval |
.,source | @source |
command | x | p v:q V:q
builtin | x |
exec | x | a=. c l
trap | @trap | l:q p:q
read | @read n* | a=n d=. i=. n=. N=. p=. t=. u=. e r s E
mapfile,readarray | n | d=. n=. O=. s=. t u=. C=! c=.
getopts | . n .* |
wait | .* | p=n f n
unset | u* | f v n
let | M* |
export,readonly | N* | a A f n p
declare,typeset,local | N* | a A f F g i I l n:! p r t u x
set | @set |
shift | @shift |
shopt | o* | o:! p q s u
hash | .* | l r t d p=!
history | .* | c d=. p s a:! n:! r:! w:!
compgen | t* | C=! F=! W=! X=! A=. G=. P=. S=. o=. V=. a b c d e f g j k s u v
fc | ! | l:q
complete,compopt,bind,enable | ! |
`
