package command

// freeBuiltinNames are builtins that start no program, run no code and write nothing that redirections do not
// say: they need no entry in an allow list.
const freeBuiltinNames = `: true false test [ echo printf cd pwd pushd popd dirs set shift export local readonly declare typeset let read mapfile readarray
getopts return break continue exit unset wait umask ulimit type jobs times shopt help caller`

// builtins are the builtins of bash; see bash(1), SHELL BUILTIN COMMANDS. They
// take no option after the first operand.
const builtins = `
:,true,false,break,continue,return,exit,logout,suspend,times,caller,dirs,fg,bg,kill,disown,help,type,ulimit,umask,pwd,echo | t* |
jobs | t* | l n p r s x:!
cd,pushd | @cd | L P e @ n
popd | @popd |
test,[ | @test |
alias | A* | p
unalias | t* | a
eval | @eval |
.,source | @source |
command | x | p v:q V:q
builtin | x |
exec | x | a=. c l
trap | @trap | l:q p:q
read | @read n* | a=n d=. i=. n=. N=. p=. t=. u=. e r s E
mapfile,readarray | n | d=. n=. O=. s=. t u=. C=! c=.
getopts | . n .* |
printf | t* | v=n
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
