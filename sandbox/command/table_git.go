package command

// gitTools are git's sub-commands; git refuses others, which may be aliases.
const gitTools = `
git | sub! | C=D c=k git-dir=! work-tree=! exec-path?! config-env=! namespace=. super-prefix=. p/paginate P/no-pager no-replace-objects bare literal-pathspecs no-optional-locks list-cmds=. attr-source=. v/version:q h/help:q html-path:q man-path:q info-path:q
git reflog,git cat-file,git shortlog,git show-branch,git verify-commit,git verify-tag,git verify-pack,git patch-id,git diff-index,git diff-tree,git diff-files,git merge-tree,git range-diff,git whatchanged,git blame,git annotate,git fsck,git grep-blob,git stripspace,git get-tar-commit-id,git column,git cherry-mark,git ls-remote-refs,git help-all,git interpret-trailers-parse | y* | output=w ext-diff:! F/file=r trailer=. m=. u=. contents=r S=. format=. sort=. local-user=. points-at=. contains=. n=.
git rev-list,git rev-parse,git name-rev,git merge-base,git for-each-ref,git show-ref,git ls-tree,git cherry | y* |
git status,git branch,git tag,git describe,git ls-files,git check-ignore,git check-attr,git check-mailmap,git check-ref-format,git symbolic-ref,git count-objects,git version,git var | t* | output=w ext-diff:! F/file=r trailer=. m=. u=. contents=r S=. format=. sort=. local-user=. points-at=. contains=. n=.
git log,git show,git diff,git format-patch | y* | output=w no-index:R o/output-directory=w ext-diff:! O=. S=. G=. n=. since=. until=. author=. grep=. format=. pretty=. L=. diff-filter=. U=. signature-file=r
git grep | . y* | O?! open-files-in-pager?! e=p f=r A=. B=. C=. m=. max-depth=. threads=. ext-grep:!
git mv,git restore,git checkout,git switch,git reset,git merge,git cherry-pick,git revert,git notes,git apply,git am,git clean,git gc,git prune,git repack,git pack-refs,git update-index,git update-ref,git update-server-info,git write-tree,git commit-tree,git read-tree,git checkout-index,git mktag,git mktree,git pack-objects,git unpack-objects,git index-pack,git replace,git rerere,git sparse-checkout,git fmt-merge-msg,git merge-file,git merge-index,git merge-one-file,git multi-pack-index,git commit-graph,git maintenance,git prune-packed,git quiltimport,git request-pull,git mailinfo,git mailsplit,git fast-import,git pull-request,git lfs,git flow,git interpret-trailers,git backfill,git refs,git pack-redundant,git unpack-file,git bugreport,git diagnose,git survey | .* | F/file=r t/template=r pathspec-from-file=r m/message=. author=. date=. C=. c=. S?. gpg-sign?. s=. strategy=. X=. directory=. exclude=. b=. B=. u?. cleanup=. trailer=. fixup=. build-fake-ancestor=w build-dir=w o/output-directory=w p
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
git fetch,git pull,git ls-remote,git fetch-pack,git clone-pack | U* | upload-pack=x exec=x o/server-option=. depth=. j=. refmap=. negotiation-tip=. filter=. s=. X=. sort=. shallow-since=. shallow-exclude=.
git push,git send-pack | U* | receive-pack=x exec=x repo=. o/push-option=. force-with-lease?. signed?. recurse-submodules=.
git archive | U* | o/output=w exec=x remote=! format=. prefix=. add-file=r add-virtual-file=. mtime=.
git bundle | . w .* | version=. q
git worktree | . w .* | b=. B=. reason=. f d detach lock
git difftool | ! | x/extcmd=x t/tool=! y
git mergetool | ! | t/tool=!
git filter-branch | .* | env-filter=c tree-filter=c index-filter=c parent-filter=c msg-filter=c commit-filter=c tag-name-filter=c setup=c subdirectory-filter=. d=w original=. state-branch=. prune-empty f
git help | .* | w/web:! m/man i/info a g
`
