package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"toolserver/sandbox/broker"
	"toolserver/sandbox/pathguard"
)

// Settings are the section sandbox of the configuration.
type Settings struct {
	ProtectDefault *bool    `yaml:"protect_default" doc:"Whether control files (.git/hooks, .vscode, .bashrc ...) are never written, and secrets (.env, .ssh ...) neither read nor written, whatever lists allow; true if unset."`
	Unprotected    []string `yaml:"unprotected" format:"protected" example:"[.vscode]" doc:"What protect_default leaves out, spelled as in refusals, such as .vscode."`
	Enforcement    string   `yaml:"enforcement" enum:"required|best_effort|parse_only" doc:"Whether the kernel holds commands to the policy too: required starts only where it can in full, best_effort says what it cannot, parse_only leaves it to the analysis of the command line."`
	Network        Network  `yaml:"network" also:"internet" doc:"What commands may reach: none is nothing, loopback an interface of their own, all what this machine does, and {allow: [github.com, \"*.example.org:443\"]} the hosts of a list."`
	UnixSockets    bool     `yaml:"unix_sockets" doc:"Unless network is none: whether commands may connect to local services such as databases, which may do for them what they may not do themselves."`
	Ask            []string `yaml:"ask" enum:"commands|writes|network" example:"[writes]" doc:"What a person may allow, asked by elicitation, where no list has it: commands, directories to write in, hosts of web_fetch and of commands that run. What is denied or protected is never asked about."`
	PrivateHosts   []string `yaml:"private_hosts" format:"private_host" example:"['10.0.0.5:8080']" doc:"What every tool may reach over HTTP although it is not on the public internet: names, *.NAME, addresses or networks, with a port or :* unless it is 80 or 443, such as searx.lan:8080; tools.NAME.private_hosts opens hosts for one tool only."`
	Limits         Limits   `yaml:"-"`

	Env     map[string]string `yaml:"env" also:"environment" example:"{NODE_ENV: test}" doc:"Environment variables of commands, such as {NODE_ENV: test, TOKEN: \"${TOKEN}\"}; what a reference stands for is removed from results, but commands can read it."`
	Presets []string          `yaml:"presets" format:"preset" example:"[git, go]" doc:"Tool chains whose settings and packages commands may read under a list of paths, and whose caches they keep in a private directory: git, go, node, python, rust, java; unset means those whose programs may run, [] means none."`
}

// The settings of Enforcement.
const (
	EnforceRequired   = "required"
	EnforceBestEffort = "best_effort"
	EnforceParseOnly  = "parse_only"
)

// Limits bounds what a command uses. Zero means no bound, except for Memory and Disk.
type Limits struct {
	Processes int   // running at the same time
	Memory    int64 // bytes of all of them; zero means half of what the machine has
	Disk      int64 // bytes it writes and commands keep for it; zero means half of what is free
	OpenFiles int   // of each process
	FileSize  int64 // bytes, of each file that is written
}

// A protected is a line of names that are protected in the same way.
type protected struct {
	names  string // with spaces between them; see [pathguard.Name]
	secret bool   // not read either
	only   bool   // not what lies beneath
	except string
}

// protectedNames are the names that protect_default is about. A control file
// makes somebody else's program run code, or tells an agent what to do, so
// writing it is a way out of the sandbox; reading it is harmless. A secret is
// worth nothing once it is read. A name is here if its files are hardly ever
// what a model is asked to change.
var protectedNames = []protected{
	// Git runs hooks, and the programs that its configuration names. A file
	// .git and the files commondir and gitdir say where that configuration is;
	// a rebase that goes on runs the exec lines of its list. Submodules and
	// work trees have their own within .git, and bare repositories are
	// directories called NAME.git.
	{names: `.git/hooks .git/config .git/config.worktree .git/commondir .git/gitdir .git/rebase-merge .git/sequencer .git/info/attributes .git/objects/info/alternates .git/objects/info/http-alternates
		.git/modules/**/hooks .git/modules/**/config .git/modules/**/config.worktree .git/modules/**/commondir .git/modules/**/gitdir .git/modules/**/objects/info/alternates
		.git/worktrees/**/hooks .git/worktrees/**/config .git/worktrees/**/config.worktree .git/worktrees/**/commondir .git/worktrees/**/gitdir
		*.git/hooks *.git/config *.git/config.worktree *.git/commondir *.git/objects/info/alternates .gitconfig .config/git`},
	{names: `.git`, only: true},
	// Hooks of other version control, and those that tools which are installed as hooks of git read.
	{names: `.hg/hgrc .hgrc .jj/repo/config.toml .husky .huskyrc .huskyrc.json .lefthook lefthook.yml lefthook.yaml lefthook.toml lefthook.json .lefthook.yml .lefthook.yaml
		lefthook-local.yml lefthook-local.yaml .lefthook-local.yml .lefthook-local.yaml .pre-commit-config.yaml prek.toml .overcommit.yml
		hk.pkl .trunk/trunk.yaml .lintstagedrc .lintstagedrc.* lint-staged.config.* captainhook.json grumphp.yml .rusty-hook.toml`},

	// Editors run tasks, debuggers, language servers and project scripts, and
	// development containers their commands, when a directory is opened.
	{names: `.vscode .vscode-server .idea .fleet .zed .vs .devcontainer .devcontainer.json
		.exrc .vimrc .gvimrc .nvimrc .nvim.lua .vim .config/nvim .emacs .emacs.d .dir-locals.el .dir-locals-2.el .config/emacs
		.helix .config/helix *.code-workspace .bsp .nova .lvimrc .theia *.sublime-project .externalToolBuilders hie.yaml omnisharp.json .config/Code .config/Cursor .config/VSCodium`},
	// Agents run the hooks and servers that their settings name.
	{names: `.mcp.json .claude .claude.json .cursor .windsurf .codex .gemini .continue .continuerc.json .roo .cline .kiro .amazonq .opencode .goose .aider.conf.yml .junie .augment .qoder .serena/project.yml .serena/project.local.yml .agents/mcp_config.json .qwen .crush.json crush.json
		opencode.json opencode.jsonc .factory .kilocode .trae .copilot .github/hooks .rovodev .openhands .grok .pi .amp .config/amp .config/opencode .config/goose .config/crush .codeium claude_desktop_config.json`},

	// Shells, and what starts with a session, run these files.
	{names: `.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .inputrc .zshrc .zshenv .zprofile .zlogin .zlogout .zsh_aliases .oh-my-zsh .p10k.zsh .fzf.bash .fzf.zsh .bash_completion
		.xonshrc .elvish .config/elvish .config/xonsh .config/starship.toml .selected_editor .config/user-dirs.dirs .forward .procmailrc .rhosts .k5login
		.kshrc .mkshrc .cshrc .tcshrc .login .logout .config/fish .config/nushell .config/powershell *_profile.ps1
		.xinitrc .xprofile .xsession .xsessionrc .xserverrc .pam_environment .config/environment.d .config/autostart .config/systemd .config/launchd LaunchAgents LaunchDaemons`},
	// What changes a shell when it enters a directory.
	{names: `mise.toml mise.local.toml .mise.toml .mise.local.toml .mise .config/mise mise/config.toml mise/config.local.toml .direnv .autoenv.zsh .rvmrc`},
	// Programs that people start every day run code from these files.
	{names: `.wezterm.lua .config/wezterm .config/kitty .config/alacritty .config/ghostty .config/i3 .config/sway .config/hypr .local/share/applications .local/share/systemd .local/share/dbus-1 .docker/cli-plugins
		.Renviron .octaverc .ghci .ocamlinit .iex.exs .erlang .sbclrc .julia/config .lein/profiles.clj .jvmopts .sbtopts bunfig.toml
		.tmux.conf .config/tmux .screenrc .gdbinit .gdbearlyinit .lldbinit .pythonrc .pythonrc.py .pythonstartup .pdbrc .ipython .jupyter jupyter_*_config.py jupyter_*_config.json .rdbgrc .irbrc .pryrc .Rprofile .psqlrc .sqliterc .lessfilter .lesskey .wgetrc .curlrc .mailcap .local/bin`},

	// Package managers run scripts, plugins and build wrappers that these name.
	{names: `.pnpmfile.cjs .pnpmfile.mjs .yarnrc .yarnrc.yml .yarn/releases .yarn/plugins .cargo/config .cargo/config.toml .cargo/bin .bundle/config .gradle/init.gradle .gradle/init.d .mvn/extensions.xml .mvn/jvm.config .mvn/maven.config
		.condarc .config/pip .pip/pip.conf sitecustomize.py usercustomize.py`},

	// What this program obeys when it is started next.
	{names: `toolserver.yaml .config/toolserver toolserver/config.yaml`},

	// Settings with passwords, and what direnv runs. Templates of them have
	// none, and are there to be read and changed; a directory called .env is
	// one of Python's.
	{names: `.env .env.*`, secret: true, only: true, except: `.env.*example .env.*sample .env.*template .env.*dist .env.*defaults .env.schema .env.d.ts`},
	{names: `.envrc .flaskenv .dev.vars`, secret: true},
	// Keys.
	{names: `.ssh .gnupg .putty .age id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk *.ppk *.kdbx .password-store .local/share/keyrings Keychains .pki .config/age .config/sops`, secret: true},
	// Clouds and clusters.
	{names: `.aws .azure .config/gcloud .oci .boto .s3cfg .aliyun .bluemix .config/doctl .config/hcloud .config/linode-cli .config/rclone .kube/config .kube/cache .config/helm/registry .terraform.d/credentials.tfrc.json .terraformrc .vault-token
		.databrickscfg .config/op .config/configstore .fly/config.yml .netlify/config.json .config/vercel .wrangler/config .config/heroku`, secret: true},
	// Passwords and tokens for hosts, forges, registries and databases.
	{names: `.netrc _netrc .git-credentials .config/gh .config/hub .config/glab-cli .config/tea .docker/config.json .dockercfg .config/containers/auth.json .npmrc .pypirc .cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml .m2/settings-security.xml
		.gradle/gradle.properties .composer/auth.json .config/composer/auth.json .nuget/NuGet/NuGet.Config .config/NuGet .pgpass .my.cnf .mylogin.cnf .rediscli_auth .config/github-copilot .huggingface/token .cache/huggingface/token
		.htpasswd .local/share/opencode/auth.json .config/sentry .sentryclirc .claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json`, secret: true},
	// Passwords and sessions of browsers and mail programs.
	{names: `.mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge`, secret: true},
	// What was typed, among it passwords.
	{names: `.bash_history .zsh_history .zhistory .local/share/fish/fish_history .python_history .node_repl_history .psql_history .mysql_history .sqlite_history .rediscli_history`, secret: true},
	// Tokens that this program keeps.
	{names: `.cache/toolserver .local/state/toolserver .local/share/toolserver .config/toolserver/tokens toolserver/tokens`, secret: true},
}

// repositoryLock is the file of [pathguard.Protection.Lock].
func (p Policy) repositoryLock() string {
	if p.StateDirectory == "" {
		return ""
	}
	return filepath.Join(p.StateDirectory, "repositories.lock")
}

// protected returns the names that are protected from reading, or from
// writing, except those that configuration leaves out.
func (p Policy) protected(u use) pathguard.Protection {
	if s := p.Settings.ProtectDefault; s != nil && !*s {
		return pathguard.Protection{}
	}
	protection := pathguard.Protection{Workspaces: append([]string{p.WorkingDirectory}, p.Roots...), Repositories: u == writing, Lock: p.repositoryLock(), Hint: allowing}
	for _, line := range protectedNames {
		if u == reading && !line.secret {
			continue
		}
		for name := range strings.FieldsSeq(line.names) {
			if !slices.Contains(p.Settings.Unprotected, name) {
				protection.Names = append(protection.Names, pathguard.Name{Pattern: name, Except: strings.Fields(line.except), Only: line.only})
			}
		}
	}
	if u == writing {
		protection.Named = p.references()
	}
	for _, own := range p.Own {
		if u == writing || own.Secret {
			protection.Files = append(protection.Files, pathguard.ProtectedFile{Path: own.Path, Rule: own.What})
		}
	}
	return protection
}

// brokered returns what a broker protects of files that commands make or change, except
// in directories for nothing else. What git runs it knows itself.
func (p Policy) brokered(writes *pathguard.Guard, exempt ...string) broker.Rules {
	protection := p.protected(writing)
	r := broker.Rules{Packages: packaged, Allowed: writes.AllowedPaths()}
	r.AllowedGlobs, r.DeniedGlobs = writes.Patterns()
	for _, dir := range exempt {
		if dir != "" {
			r.Exempt = append(r.Exempt, realOr(dir))
		}
	}
	for _, n := range protection.Names {
		if n.Pattern != ".git" && !strings.HasPrefix(n.Pattern, ".git/") && !strings.HasPrefix(n.Pattern, "*.git/") {
			r.Names = append(r.Names, n)
		}
	}
	for _, f := range protection.Files {
		r.Files = append(r.Files, realOr(f.Path))
	}
	for _, dir := range protection.Workspaces {
		r.Workspaces = append(r.Workspaces, realOr(dir))
	}
	return r
}

// allowing says what an operator sets so that a rule does not protect.
func allowing(rule string) string {
	if slices.Contains(ProtectedNames(), rule) {
		return fmt.Sprintf("the operator can allow it with sandbox.unprotected: [%q]", rule)
	}
	return "the operator can allow it with sandbox.protect_default: false"
}

// ProtectedNames returns what [Settings.Unprotected] can name.
func ProtectedNames() (names []string) {
	for _, line := range protectedNames {
		names = append(names, strings.Fields(line.names)...)
	}
	return names
}
