package command

import (
	"slices"
	"strings"

	"toolserver/lazyregexp"
)

// gitHarmless lists the configuration keys that no program is chosen by; see
// nameList for those that take some values only.
const gitHarmless = `user.name user.email user.useConfigOnly color.* init.defaultbranch advice.* commit.gpgsign tag.gpgsign core.quotepath core.autocrlf core.eol core.filemode core.ignorecase core.abbrev core.safecrlf core.bare core.longpaths core.precomposeunicode core.whitespace core.symlinks core.commentchar
log.* diff.renames diff.renamelimit diff.algorithm diff.context diff.noprefix diff.mnemonicprefix diff.colormoved diff.wserrorhighlight diff.submodule diff.statgraphwidth merge.conflictstyle merge.ff merge.renames merge.renamelimit merge.log pull.rebase pull.ff push.default push.autosetupremote push.followtags rebase.autosquash rebase.autostash rebase.updaterefs rebase.stat
fetch.prune fetch.parallel fetch.prunetags branch.autosetuprebase branch.autosetupmerge branch.sort tag.sort versionsort.suffix status.* stash.* blame.* grep.linenumber grep.patterntype grep.column grep.extendedregexp column.* help.autocorrect rerere.* gc.auto gc.autodetach maintenance.auto pack.* index.* feature.* submodule.recurse submodule.fetchjobs format.pretty i18n.* apply.whitespace am.threeway http.postbuffer http.lowspeedlimit http.lowspeedtime http.version http.followredirects transfer.* receive.* safe.directory checkout.* clone.defaultremotename worktree.* notes.displayref commit.verbose commit.cleanup commit.status interactive.singlekey pager.*=|false|cat
core.pager=|cat|true|: core.editor=|cat|true|: sequence.editor=|cat|true|: core.fsmonitor=false|/dev/null core.hookspath=false|/dev/null`

// gitConfig checks a key=value of git's configuration.
func (u *use) gitConfig(a arg, _ string) {
	key, value, _ := strings.Cut(a.s, "=")
	u.gitKey(arg{s: key, many: a.many}, text(value))
}

func (u *use) gitKey(key, value arg) {
	if !key.exact() || !gitKeys().lists(strings.ToLower(key.s), value) {
		u.refuse("option", "git configuration %s may choose a program to run", quote(show(key.s)))
	}
}

// remoteHelper matches a URL of the form helper::address.
var remoteHelper = lazyregexp.New(`^[a-zA-Z0-9+.\x01\x02\x03\x05\x06-]+::`)

// remote refuses addresses for which git runs a program.
func (u *use) remote(url arg, _ string) {
	if remoteHelper().MatchString(url.s) {
		u.refuse("option", "%s %s runs a program as a remote helper", u.name, quote(show(url.s)))
	}
}

// gitSetConfig checks git config KEY VALUE.
func (u *use) gitSetConfig() {
	ops := u.in.operands
	switch {
	case len(ops) == 0:
	case ops[0].is("set") || ops[0].is("edit"):
		ops = ops[1:]
	case ops[0].is("get") || ops[0].is("list") || ops[0].is("unset"):
		return
	}
	if len(ops) < 2 || u.in.given("get", "get-all", "get-regexp", "get-urlmatch", "unset", "unset-all", "l", "list") {
		if slices.ContainsFunc(ops, func(a arg) bool { return a.many }) {
			u.refuse("computed", "git config gets operands that are known only when it runs")
		}
		return
	}
	u.gitKey(ops[0], ops[1])
}

var gitKeys = lazily(gitHarmless)

// mutations lists, for sub-commands that are mostly used to look, the words
// that destroy. A rule for the bare sub-command does not cover them.
const mutations = `git.branch=-d,-D,-m,-M,-c,-C,-f,--delete,--move,--copy,--force,-u,--set-upstream-to,--unset-upstream,--edit-description
git.tag=-d,-f,--delete,--force git.stash=drop,clear,pop git.remote=add,set-url,remove,rm,rename,prune,set-head,set-branches,update git.reflog=delete,expire
git.worktree=remove,prune,move git.notes=remove,prune,append,add,edit,copy,merge git.log=--ext-diff git.diff=--ext-diff git.show=--ext-diff git.push=-f,--force,-d,--delete,--mirror,--prune git.checkout=-f,--force
git.config=--global,--system,--unset,--unset-all,--add,--replace-all,--edit,-e,set,unset,--remove-section,--rename-section npm.config=set,delete,edit npm.cache=clean npm.version=--force docker.image=rm,prune docker.container=rm,prune docker.volume=rm,prune docker.network=rm,prune kubectl.config=set,unset,set-context,use-context,delete-context`

var mutationTable = lazily(mutations)

// mutating refuses destructive words after a sub-command that a rule allows,
// unless the rule itself spells them out.
func (c *checker) mutating(r *rule, prog program, sub string, args []arg) {
	words := mutationTable()[prog.base+"."+sub]
	if words == "" || len(r.words) > 2 {
		return
	}
	for w := range strings.SplitSeq(words[1:], ",") {
		for i, a := range args {
			if strings.HasPrefix(w, "-") && optionIs(a.s, w) ||
				!strings.HasPrefix(w, "-") && i > 0 && args[i-1].is(sub) && (a.is(w) || !a.exact()) {
				c.refuse("mutating", prog.base+" "+sub+" "+w+" changes things, and the rule "+quote(r.text)+" is taken to allow looking",
					"add "+quote(r.text+" "+w)+" to allowed_commands")
				return
			}
		}
	}
}
