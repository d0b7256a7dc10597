package command

// builtins are the builtins of bash; see bash(1), SHELL BUILTIN COMMANDS. They
// take no option after the first operand.
const builtins = `
:,true,false,break,continue,return,exit,logout,suspend,times,caller,dirs,jobs,fg,bg,kill,disown,help,type,ulimit,umask,pwd,echo | t* |
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
