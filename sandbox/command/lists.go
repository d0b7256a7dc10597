package command

import (
	"slices"
	"strings"
	"sync"
)

// freeBuiltinNames are builtins that start no program, run no code and write nothing that redirections do not
// say: they need no entry in an allow list.
const freeBuiltinNames = `: true false test [ echo printf cd pwd pushd popd dirs set shift export local readonly declare typeset let read mapfile readarray
getopts return break continue exit unset wait umask ulimit type jobs times shopt help caller`

// codeInfluencingVars lists variables that choose programs, libraries or code for what runs later, or
// change how the shell reads a script. A trailing * matches any ending. Sources: bash(1), git(1),
// ld.so(8), environ(7), and the manuals of the programs.
const codeInfluencingVars = `
PATH IFS ENV BASH_ENV SHELLOPTS BASHOPTS BASH_FUNC_* BASH_LOADABLES_PATH BASH_XTRACEFD BASH_COMPAT BASH_ALIASES BASH_CMDS BASH_ARGV0 CDPATH GLOBIGNORE EXECIGNORE
PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 POSIXLY_CORRECT FCEDIT HISTFILE HISTTIMEFORMAT MAILPATH MAIL TIMEFORMAT TMOUT HOME SHELL PWD OLDPWD
INPUTRC command_not_found_handle TEXTDOMAIN TEXTDOMAINDIR OUTPUT_CHARSET
LD_* DYLD_* GCONV_PATH LOCPATH NLSPATH MALLOC_TRACE GLIBC_TUNABLES RES_OPTIONS HOSTALIASES LOCALDOMAIN GETCONF_DIR TZDIR
GIT_* LESS LESSOPEN LESSCLOSE LESSKEY* LESSEDIT LESSHISTFILE MORE MOST_EDITOR PAGER MANPAGER MANPATH MANROFFSEQ MANOPT GROFF_* BROWSER EDITOR VISUAL SYSTEMD_EDITOR SUDO_EDITOR SUDO_ASKPASS SSH_ASKPASS SSH_ASKPASS_REQUIRE SSH_AUTH_SOCK TIMEFMT
HG* SVN_* CVS_* RSYNC_* TAR_OPTIONS TAPE GZIP BZIP BZIP2 XZ_OPT XZ_DEFAULTS ZSTD_CLEVEL ZIPOPT UNZIP UNZIPOPT GREP_OPTIONS RIPGREP_CONFIG_PATH FZF_* BAT_* FD_* ACKRC LS_OPTIONS DIFF_OPTIONS CTAGS
PYTHON* PIP_* VIRTUAL_ENV UV_* POETRY_* CONDA_* NODE_* NPM_CONFIG_* npm_config_* YARN_* PNPM_* DENO_* BUN_* ELECTRON_*
PERL5* PERLLIB PERL_* RUBY* GEM_* BUNDLE_* RAKEOPT LUA_* PHPRC PHP_* JAVA_* _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH MAVEN_* GRADLE_* ANT_* SBT_* KOTLIN_* SCALA_* GROOVY_*
R_* JULIA_* ERL_* ELIXIR_* MIX_* GHC* GUILE_* TCLLIBPATH OCAML* OPAM* PKG_CONFIG* AWKPATH AWKLIBPATH GAWK_* POSIX_ME_HARDER EMACS* VIM* MYVIMRC GVIMINIT EXINIT NEXINIT SQLITE_* PSQLRC PSQL_* PGSERVICEFILE PGSYSCONFDIR MYSQL_*
MAKE* GNUMAKEFLAGS MFLAGS CMAKE_* NINJA_* CC CXX CPP LD AR AS NM RANLIB STRIP OBJCOPY FC F77 HOSTCC CCACHE_* DISTCC_* GCC_EXEC_PREFIX COMPILER_PATH LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH CFLAGS CXXFLAGS CPPFLAGS LDFLAGS
GOFLAGS GOROOT GOPATH GOBIN GOENV GOTOOLCHAIN GOTOOLDIR GOWORK GOEXPERIMENT GOAUTH GOVCS GOINSECURE GONOSUMDB GONOSUMCHECK GOSUMDB GCCGO GO_EXTLINK_ENABLED CGO_CFLAGS* CGO_CPPFLAGS* CGO_CXXFLAGS* CGO_FFLAGS* CGO_LDFLAGS*
CARGO_* RUSTC RUSTDOC RUSTC_* RUSTFLAGS RUSTDOCFLAGS RUSTUP_* DOCKER_* KUBECONFIG KUBE_EDITOR ANSIBLE_* TF_* AWS_* OPENSSL_* SSLKEYLOGFILE CURL_HOME WGETRC SYSTEM_WGETRC NETRC
GTK_* QT_* GIO_* GST_* GDK_* XDG_CONFIG_* XDG_DATA_* DBUS_* TERMINFO* TERMCAP TERMPATH VALGRIND_* GDB* DEBUGINFOD_* APT_* DPKG_* DEB_* PARALLEL* XARGS_* SCREENRC TMUX*
`

// harmless lists exceptions from codeInfluencingVars.
const harmless = `
GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_MERGE_AUTOEDIT GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS GIT_REFLOG_ACTION GIT_LFS_SKIP_SMUDGE GIT_ADVICE GIT_FLUSH
GIT_PAGER=|cat PAGER=|cat MANPAGER=|cat SYSTEMD_PAGER=|cat GIT_EDITOR=|true|: EDITOR=|true|: VISUAL=|true|: GIT_SEQUENCE_EDITOR=|true|: GIT_TRACE=0|1|true|false GIT_CONFIG_NOSYSTEM=0|1 GIT_ALLOW_PROTOCOL=file|https|ssh|https:ssh GIT_ASKPASS=|true SSH_ASKPASS=|true
PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONUTF8 PYTHONIOENCODING PYTHONFAULTHANDLER PYTHONTRACEMALLOC PYTHONDEVMODE PYTHONOPTIMIZE PYTHONVERBOSE PYTHONNOUSERSITE PYTHONSAFEPATH PYTHONASYNCIODEBUG PYTHONNODEBUGRANGES PYTHONBREAKPOINT=0 PIP_NO_INPUT PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_CACHE_DIR PIP_QUIET
NODE_ENV NODE_DEBUG NODE_NO_WARNINGS NODE_DISABLE_COLORS NODE_TEST_CONTEXT NPM_CONFIG_LOGLEVEL NPM_CONFIG_FUND NPM_CONFIG_AUDIT NPM_CONFIG_COLOR NPM_CONFIG_PROGRESS npm_config_loglevel npm_config_yes
CARGO_TERM_COLOR CARGO_INCREMENTAL CARGO_NET_OFFLINE RUBY_GC_HEAP_INIT_SLOTS PERL_HASH_SEED TIMEFORMAT LESS=|-R|-F|-X|-FRX|-FRSX
GOFLAGS=|-mod=mod|-mod=vendor|-mod=readonly|-count=1|-race|-v|-trimpath|-buildvcs=false|-short GOTOOLCHAIN=local|auto GOWORK=off GOEXPERIMENT GOSUMDB=off GOENV=off GZIP=-1|-6|-9 XZ_OPT=-0|-1|-6|-9 MAKEFLAGS=|-j1|-j2|-j4|-j8
DOCKER_BUILDKIT TF_IN_AUTOMATION TF_INPUT TF_LOG AWS_REGION AWS_DEFAULT_REGION AWS_PROFILE AWS_PAGER= DEB_BUILD_OPTIONS CMAKE_BUILD_TYPE CMAKE_BUILD_PARALLEL_LEVEL CMAKE_EXPORT_COMPILE_COMMANDS BAT_THEME BAT_STYLE FD_SETSIZE GTK_THEME
`

// changing lists variables whose value the shell sets by itself or treats
// specially, so that an assignment does not make them a known constant.
const changing = `_ RANDOM SRANDOM SECONDS LINENO REPLY BASHPID PPID UID EUID GROUPS DIRSTACK FUNCNAME PIPESTATUS HISTCMD OPTARG OPTIND EPOCHSECONDS EPOCHREALTIME MAPFILE COPROC HOSTNAME HOSTTYPE MACHTYPE OSTYPE SHLVL COLUMNS LINES BASH_* COMP_* READLINE_*`

// numericNames lists parameters that always hold a number.
const numericNames = `# ? $ ! RANDOM SRANDOM SECONDS LINENO BASHPID PPID UID EUID OPTIND EPOCHSECONDS COLUMNS LINES SHLVL HISTCMD BASH_SUBSHELL`

// specialVar reports whether assigning the variable does more to the shell, or less, than give it the value.
func specialVar(name string) bool {
	return changingVars().lists(name, unknown) || codeVars().lists(name, unknown) && !strings.HasPrefix(name, "GIT_")
}

// checkEnvName refuses an assignment to a variable that changes what runs.
func (c *checker) checkEnvName(name string, value arg, where string) {
	if !codeVars().lists(name, value) || harmlessVars().lists(name, value) {
		return
	}
	what := name + "=" + show(value.s)
	if where != "" {
		what = where + " " + name
	}
	c.refuse("environment", what+" changes which programs or code run later", "run the command without setting "+name)
}

// nameList holds names, or the beginnings of names with a * behind, and what follows them in the list
// from a = on: the values that they are listed with, separated by bars; nothing for any.
type nameList map[string]string

func (l nameList) lists(name string, value arg) bool {
	values, ok := l[name]
	for i := 0; i <= len(name) && !ok; i++ {
		values, ok = l[name[:i]+"*"]
	}
	return ok && (values == "" || slices.ContainsFunc(strings.Split(values[1:], "|"), value.is))
}

// lazily returns a function that parses the list at first use.
func lazily(list string) func() nameList {
	return sync.OnceValue(func() nameList {
		l := nameList{}
		for word := range strings.FieldsSeq(list) {
			name, _, _ := strings.Cut(word, "=")
			l[name] = word[len(name):]
		}
		return l
	})
}

var (
	freeBuiltins = lazily(freeBuiltinNames)
	codeVars     = lazily(codeInfluencingVars)
	harmlessVars = lazily(harmless)
	changingVars = lazily(changing)
	numericVars  = lazily(numericNames)
)
