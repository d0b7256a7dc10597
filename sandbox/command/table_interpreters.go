package command

// interpreters run code.
const interpreters = `
sh,dash,ash,mksh,posh,yash | s < | c:C s:! i:! l e u x v n f a b m o=. version:q help:q
bash,rbash | s < | c:C s:! i:! l/login e u x v n f h k:! p r/restricted a:! o=. O=! init-file=! rcfile=! norc noprofile posix noediting debug debugger:! dump-strings:q version:q help:q verbose
zsh | s < | c:C s:! i:! l/login f o=! e u x v n version:q help:q
ksh,ksh93,oksh,csh,tcsh | s < | c:C s:! i:! l e u x v n o=. E:! version:q f
fish | s < | c/command=i C/init-command=i i:! l N/no-config n:q v/version:q h:q
nu,pwsh,powershell,elvish,xonsh,oil,osh,ysh,rc,es | s < | c=i C=i Command=i EncodedCommand=i File=s version:q help:q
python,python2,python3,pypy,pypy3 | f < | c>i m>m W=. X=. i:! V/version:q h/help:q B b d E I O OO P q s S t u v x R check-hash-based-pycs=.
node,nodejs | f < | e/eval=i p/print?i pe=i i/interactive:! r/require=f import=f loader=f experimental-loader=f c/check test:m watch inspect?! inspect-brk?! C/conditions=. v/version:q h/help:q env-file=r env-file-if-exists=r input-type=. title=. stack-size=. openssl-config=r icu-data-dir=r build-snapshot-config=r diagnostic-dir=w redirect-warnings=w cpu-prof-dir=w heap-prof-dir=w report-directory=w trace-event-file-pattern=w tls-keylog=w experimental-default-config-file config run=m
deno | sub! | version:q help:q
deno run,deno test,deno bench,deno check,deno lint,deno fmt,deno info,deno doc,deno cache,deno task,deno compile,deno install,deno add,deno upgrade,deno types,deno serve,deno init,deno outdated,deno publish,deno vendor,deno coverage | .* | A allow-run?! ext=.
deno eval,deno repl,deno jupyter | ! | p:!
bun | sub | e/eval=i p/print=i r/preload=f
perl,perl5 | f < | e=i E=i n p a c d:! D=. F?. i?. I=. l 0 m=i M=i s S t T u U v:q V?q w W x X h:q C f
ruby,jruby,mruby | f < | e=i r=f I=. n p a l s S v:q w W x c C=d d i?. F=. K=. E=. T version:q help:q
php,php8,php7 | f < | r=i B=i R=i E=i F=s f=f a:! S=. t=d c=! d=! n l i:q v:q m:q z=! s w
lua,luajit,lua5 | f < | e=i l=f i:! v:q
tclsh,wish,R,Rscript,julia,octave,maxima,gp,sage | f < | c=i f/file=s b=s i:! d v:q e/eval=i vanilla slave no-save q version:q E/print=i L/load=s
guile,scheme,racket,csi,sbcl,clisp,ecl,mit-scheme,chez,petite | f < | c=i e=i eval=i load=s l=s s=s x=i version:q
osascript,elixir,iex,erl,erlang,escript | f < | e=i l=. s=. eval=i r=s S=. run=. pr=s rpc-eval=i noshell
ghc,runghc,runhaskell,stack,cabal,ocaml,swift,scala,kotlin,groovy,jshell,clj,clojure,bb,dart,crystal,nim,raku,perl6,nodejs-repl,coffee,ts-node,tsx,esno | .* | e=i eval=i main=i m=. exec=i
java | - f | cp=r classpath=r jar=f version:q help:q javaagent=! agentpath=! agentlib=! m=. p=r D?.
awk,gawk,mawk,nawk,original-awk | awk r* | f/file=s F/field-separator=. v/assign=. e/source=awk i/include=s E/exec=s l/load=s d/dump-variables?w p/profile?w o/pretty-print?w D/debug?! W=! V/version:q h/help:q b c C g L?. n N/use-lc-numeric M/bignum O P r/re-interval s S/sandbox t I k/csv
sed,gsed | sed r* | e/expression=sed f/file=s n/quiet silent i/in-place?I s/separate E r/regexp-extended z/null-data u/unbuffered l/line-length=. b/binary posix debug sandbox follow-symlinks help:q version:q
ed,red,ex,vi,vim,nvim,view,rvim,gvim,vimdiff,vimtutor,nvi,elvis,emacs,emacsclient,nano,pico,micro,joe,mcedit,kak,hx,helix,ne,jed,mg,zile | ! | version:q help:q h:q c=! S=! u=! e=! s:!
sqlite3,sqlite,duckdb | r ! < | cmd=i init=s version:q help:q
psql,mysql,mariadb,mongosh,mongo,redis-cli,isql,sqlplus,usql,mycli,pgcli | .* | c/command=i f/file=s e/execute=i eval=i init-command=i
gdb,lldb,cgdb,pdb,pdb3,ddd | ! | v/version:q ex=i x=s batch command=s eval-command=i args:! p=!
make,gmake,bmake | @make | f/file/makefile=r C/directory=D I/include-dir=. E/eval=i eval=i j/jobs?. l/load-average?. o/old-file=. W/what-if=. n/dry-run k/keep-going B/always-make s/silent i/ignore-errors e:! r R t w q v/version:q h/help:q p d O?. shuffle?.
cmake | .* | P=s E:! build=. S=r B=w D=. G=. install=. C=s version:q help:q
ctest,meson,ninja,bazel,buck,scons,ant,gradle,mvn,sbt,lein,rake,just,task,mage,tox,nox,invoke,fab,waf | .* | version:q eval=i e=i shell=! shell-arg=!
dc,m4,gm4 | s < | e=i expression=i f=s V:q version:q
screen,tmux,byobu,zellij | ! | V:q v:q
gcc,g++,cc,c++,clang,clang++,cpp,tcc,gfortran,gccgo,ld,gold,lld,as | - a* | o=w wrapper=! B=! fplugin=! load=! specs=! error-handling-script=! output=w dependency-file=w Map=w fuse-ld=! plugin=! x=. I=. L=. l=. D=. U=. include=r isystem=. MF=w MT=. MQ=. T=r Xlinker=. version:q dumpversion:q
npm | sub! | prefix=D C=D g/global s/silent q d loglevel=. registry=. userconfig=! globalconfig=! script-shell=! shell=! node-options=! git=! python=! onload-script=! init-module=! editor=! viewer=! browser=! cache=w v/version:q h/help:q w/workspace=. workspaces ws if-present include-workspace-root no-fund no-audit
npm test,npm t,npm tst,npm start,npm stop,npm restart,npm run,npm run-script,npm rum,npm urn,npm install,npm i,npm in,npm ins,npm add,npm ci,npm clean-install,npm it,npm install-test,npm cit,npm update,npm up,npm upgrade,npm uninstall,npm un,npm remove,npm rm,npm r,npm unlink,npm ls,npm list,npm ll,npm la,npm outdated,npm audit,npm fund,npm view,npm v,npm info,npm show,npm search,npm find,npm s,npm pack,npm publish,npm version,npm rebuild,npm rb,npm prune,npm dedupe,npm ddp,npm cache,npm bin,npm root,npm prefix,npm doctor,npm why,npm explain,npm query,npm pkg,npm ping,npm whoami,npm help,npm login,npm logout,npm link,npm ln,npm deprecate,npm dist-tag,npm shrinkwrap,npm sbom,npm diff,npm docs,npm repo,npm bugs,npm owner,npm org,npm team,npm token,npm access,npm profile,npm star,npm completion,npm get | .* | prefix=D C=D g/global s/silent w/workspace=. workspaces if-present script-shell=! shell=! node-options=! git=! python=! onload-script=! userconfig=! globalconfig=! cache=w pack-destination=w ignore-scripts registry=. tag=. omit=. include=. editor=! viewer=! browser=!
npm config,npm c,npm set,npm edit,npm explore,npm init,npm create,npm innit,npm install-scripts | ! | y/yes
npx,pnpx,bunx,npm exec,npm x | x | c/call=c p/package=. y/yes q/quiet no-install n/node-arg=! shell=! prefix=D script-shell=!
yarn,pnpm | sub | cwd=D C/dir=D version:q
`
