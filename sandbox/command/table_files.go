package command

// fileTools read and write the files that their operands name.
const fileTools = `
nl,rev,od,hexdump,fold,fmt,expand,unexpand,paste,comm,join,zcat,bzcat,xzcat,zstdcat,lz4cat,column,look,tsort,pr,cmp,ldd,xmllint,bat,batcat,hd,factor,colrm,basenc,shellcheck,yamllint,jsonlint,hadolint,markdownlint,editorconfig-checker,actionlint,uudecode,uuencode,ul | r* | n=. c=. d/delimiter=. f=. w/width=. b=. s=. t=. l=. m=. files0-from=r lines=. bytes=. fields=. output-delimiter=. N=. j=. A=. J=. v=. i?. I=. L=. P=. 1=. 2=. e=. a=. o=. help:q version:q
strip | w* | plugin=! o=w R=. N=. K=. S g s d x
objcopy | a w | plugin=! o=w R=. j=. S g w add-section=. set-section-flags=. only-keep-debug strip-all strip-debug strip-unneeded keep-symbol=. K=. N=.
nm,objdump,size,strings,readelf,ranlib,addr2line | a* | plugin=! e=. j=. d D M=. C n=. t=. S s x h r l o=w a f g help:q v version:q
file | r* | z/uncompress:! Z/uncompress-noreport:! C/compile:! f/files-from=r m/magic-file=r F/separator=. b i k L N n r s mime mime-type help:q v/version:q
head,tail | r* | n/lines=. c/bytes=. q/quiet v/verbose z help:q version:q s/sleep-interval=. pid=. f F follow?. retry
wc | r* | c/bytes m/chars l/lines w/words L/max-line-length files0-from=r total=. help:q version:q
ls,dir,vdir | l* | I/ignore=. w/width=. T/tabsize=. block-size=. color?. format=. sort=. time=. time-style=. hide=. indicator-style=. quoting-style=. hyperlink?. a A b B C c d D f F g G h H i k l L m n N o p q Q r R s S t u U v x X Z 1 help:q version:q
shuf | r* | o/output=w n/head-count=. i/input-range=. random-source=r e/echo:t r z help:q version:q
cat,tac | r* | A b e E n s t T u v help:q version:q r/regex s/separator=.
cut | r* | b/bytes=. c/characters=. d/delimiter=. f/fields=. n complement s/only-delimited output-delimiter=. z help:q version:q
stat,readlink,realpath | l* | L/dereference f/file-system c/format=. printf=. t/terse help:q version:q
du | l* | a b c D h H k l L m P S s t/threshold=. 0 x X/exclude-from=r exclude=. d/max-depth=. files0-from=r time?. time-style=. B/block-size=. apparent-size si inodes help:q version:q
tree | l* | L=. P=. I=. o=w H=. T=. a d f i l p s u g D h F r t c n C N q v x J X charset=. filelimit=. noreport prune dirsfirst gitignore fromfile help:q version:q
base64,base32 | r | d/decode i w/wrap=. D help:q version:q
xxd | r w | a b c=. e g=. h i l=. o=. p ps r s=. u v E C
md5sum,sha1sum,sha256sum,sha512sum,sha224sum,sha384sum,b2sum,cksum,sum | r* | b c/check t z l=. a=. tag quiet status strict w r s help:q version:q
grep,egrep,fgrep,zgrep,ggrep | . r* | e/regexp=p f/file=P A/after-context=. B/before-context=. C/context=. m/max-count=. d/directories=. D/devices=. label=. color?. colour?. include=. exclude=. exclude-from=r exclude-dir=. binary-files=. E F G P i v w x c l L q s n b H h o r R a I U z T Z help:q V/version:q
rg,ripgrep | . r* | e/regexp=p f/file=P pre=x hostname-bin=x pre-glob=. ignore-file=r A/after-context=. B/before-context=. C/context=. m/max-count=. g/glob=. iglob=. t/type=. T/type-not=. type-add=. type-clear=. j/threads=. r/replace=. E/encoding=. M/max-columns=. d/max-depth=. maxdepth=. max-filesize=. color=. colors=. context-separator=. path-separator=. sort=. sortr=. engine=. field-context-separator=. field-match-separator=. dfa-size-limit=. regex-size-limit=. files:p type-list:q hyperlink-format=. z/search-zip:! generate=. no-pre hidden no-ignore h/help:q V/version:q
ag,ack,ucg,ack-grep | . r* | pager=x A=. B=. C=. G=. m=. p/path-to-ignore=r ignore=. ackrc=! env
fd,fdfind | . r* | x/exec:! X/exec-batch:! e/extension=. t/type=. d/max-depth=. E/exclude=. c/color=. S/size=. o/owner=. j/threads=. ignore-file=r base-directory=d search-path=r changed-within=. changed-before=. and=. H I L p g i s u a l 0
find,gfind | @find | -
eza,exa,lsd | l* | L=. I=. s=. t=.
sort,gsort | r* | o/output=w compress-program=x T/temporary-directory=w files0-from=r random-source=r k/key=. t/field-separator=. S/buffer-size=. parallel=. batch-size=. sort=. b d f g i M h n R r V c C m s u z debug check?. help:q version:q
uniq | r w | f/skip-fields=. s/skip-chars=. w/check-chars=. c d D i u z group?. all-repeated?. help:q version:q
tee,sponge | w* | a/append i p output-error?. help:q version:q
rm,unlink,rmdir,srm,trash,trash-put,wipe | w* | f/force i I r R/recursive d/dir p/parents v/verbose q s c k interactive? one-file-system no-preserve-root preserve-root? ignore-fail-on-non-empty help:q version:q
touch,truncate,mkfifo,mknod,shred,rename,prename,fallocate,mkdir | w* | r/reference=r s/size=. d/date=. t=. m/mode=. random-source=r p/parents v/verbose a c/no-create f h l=. o=. n=. u Z help:q version:q
mktemp | w | d/directory u/dry-run q/quiet p=w tmpdir?w suffix=. t V help:q version:q
chmod,chown,chgrp,chattr,setfacl,chcon,setfattr | . w* | R/recursive f v c reference=r h n=. m=. x=. b k d L H P from=. no-preserve-root preserve-root help:q version:q
cp,gcp,mv,gmv,ln | r*w | t/target-directory=W S/suffix=. backup?. a/archive b d f/force i/interactive H l/link L/dereference n/no-clobber P/no-dereference p R/recursive r s/symbolic-link/symbolic T u/update v/verbose x Z attributes-only copy-contents no-preserve=. parents preserve?. reflink?. remove-destination sparse=. strip-trailing-slashes one-file-system context?. help:q version:q F
install,ginstall | r*w | t/target-directory=W m/mode=. o/owner=. g/group=. S/suffix=. strip-program=x s/strip b c C d/directory D p T v Z help:q version:q
dd | @dd |
split,csplit | r w | filter=c a/suffix-length=. b/bytes=. C/line-bytes=. l/lines=. n/number=. t/separator=. additional-suffix=. d e u x verbose numeric-suffixes?. hex-suffixes?. elide-empty-files f/prefix=w help:q version:q
tar,gtar,bsdtar | old @tar | c/create x/extract t/list r/append u/update A/catenate d/diff delete get f/file=. C/directory=d I/use-compress-program=x F/info-script=x new-volume-script=x to-command=c checkpoint?. checkpoint-action=! rsh-command=x rmt-command=x P/absolute-names:! remove-files:~rm T/files-from=s group-map=r owner-map=r X/exclude-from=r exclude=. exclude-vcs exclude-tag=. K/starting-file=. L/tape-length=. N/newer=. V/label=. b/blocking-factor=. g/listed-incremental=w index-file=w strip-components=. transform=. xform=. s=. owner=. group=. mode=. mtime=. sort=. format=. H=. volno-file=w warning=. one-top-level?w O/to-stdout z/gzip j/bzip2 J/xz zstd lzma lzip lzop Z/compress a/auto-compress v/verbose k/keep-old-files m p/preserve-permissions h/dereference W/verify w/interactive S/sparse overwrite unlink-first recursive-unlink backup?. suffix=. totals?. options=. use-compress-prog=x help:q version:q
cpio,pax | .* | F/file=w I=r O=w D/directory=d rsh-command=x i o p d m v u t a:! s=. w r
gzip,gunzip,bzip2,bunzip2,xz,unxz,zstd,unzstd,lz4,lzma,pigz,pbzip2,compress,uncompress,brotli | w* | c/stdout t/test l/list d k f r o=w output-dir-flat=w T=. S=. 1 9 files?r h:q V:q
zip | - w r* @zip | TT/unzip-command=x T/test b/temp-path=w O/output-file/out=w lf/logfile-path=w i/include=. x/exclude=. n=. P/password=. t=. tt=. r/recurse-paths j m/move:~rm d u f q v 9 0 e X y s=. @ h:q
unzip,bsdunzip | r .* | d=w l v t p c o n q j x=. P=. O=. I=. Z
ar,jar | a* | plugin=!
diff,gdiff,sdiff,colordiff,wdiff | r* | l/paginate:! o/output=w diff-program=x to-file=r from-file=r X/exclude-from=r x/exclude=. S=. I/ignore-matching-lines=. U/unified?. C/context?. u c L/label=. F=. W/width=. D/ifdef=. y q r N a b w B i E Z e n s p t T d H line-format=. color?. help:q v/version:q
diff3 | r* | diff-program=x m A e E L/label=.
patch,gpatch | w r | i/input=r o/output=w d/directory=d r/reject-file=w B/prefix=. p/strip=. D/ifdef=. V=. Y=. z/suffix=. F/fuzz=. e/ed:! R N f t s E l n u c b dry-run binary version:q
iconv,dos2unix,unix2dos | r* | o/output=w f/from-code=. t/to-code=. l/list:q n/newfile
jq,gojq,yq,xq,jaq | . r* | f/from-file=P L=. arg=. argjson=. slurpfile=p rawfile=p args jsonargs i/inplace:I indent=. r c n s e S C M a j R tab
less,more,most,zless,zmore,lv,pg | @pager r* | o=w O=w log-file=w LOG-FILE=w k/lesskey-file=! lesskey-src=! lesskey-content=! T/tag-file=r t/tag=. p/pattern=. P=. j=. x=. y=. z=. b=. h=. D=. e E f F g G i I m M n N q R r s S u U w W X V/version:q
date,gdate | +* | s/set=! d/date=. f/file=r r/reference=r I?. iso-8601?. R rfc-3339=. u help:q version:q debug
man,apropos,whatis,info | .* | P/pager=x H?! html?! B=! X?! gxditview?! T?. C/config-file=! M/manpath=! L/locale=. m=. s/sections=. S=. e/extension=. E/encoding=. p/preprocessor=. R/recode=. f k K w W a c l/local-file t Z D d u r=. i I regex wildcard names-only no-hyphenation nh no-justification nj V/version:q h/help:q
groff,troff,nroff,gropdf,grops | r* | U:! l:! L=. P=. p e t s
tcpdump,tshark,dumpcap | .* | z=x w=w r=r C=. G=. i=. c=. s=.
dpkg,rpm,apt,apt-get,aptitude,yum,dnf,apk,pacman,brew,snap,flatpak | .* | o/option=! c/config-file=! admindir=! root=! pre-invoke=! post-invoke=! define=! eval=! E=! D=.
ctags,etags,cscope | r* | o=w f=w L=r i=r options=! options-maybe=! e
openssl | - sub |
openssl enc,openssl req,openssl x509,openssl genrsa,openssl rsa,openssl dgst,openssl pkcs12,openssl rand,openssl ca,openssl s_client,openssl s_server,openssl pkey,openssl genpkey,openssl ec,openssl verify,openssl crl,openssl cms,openssl smime,openssl ts | - .* | out=w in=r engine=! config=! provider-path=! keyout=w
socat | ! | V:q h:q
ncat,nc,netcat,telnet | .* | e=x c=c exec=x sh-exec=c lua-exec=s
logger,wall,write,mail,mailx,mutt,sendmail | .* | f=r E=! S=!
`
