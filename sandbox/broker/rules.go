package broker

import "github.com/toolserver/toolserver/sandbox/pathguard"

// Rules say what a broker protects. Paths are absolute and without links.
type Rules struct {
	Names []pathguard.Name
	// Files are protected whatever their name is, with what is below them.
	Files []string
	// Exempt are directories of the commands alone, such as that for temporary
	// files, where names are not protected. Neither are they in directories of
	// installed packages: those in a workspace that are called as one of Packages.
	Exempt, Packages []string
	// DeniedGlobs and AllowedGlobs are absolute, and govern what is beneath, too. If some
	// are allowed, below their plain beginnings nothing else is that is not below Allowed.
	DeniedGlobs, AllowedGlobs, Allowed []string
	// Workspaces are the directories that were chosen to work in: their own path says
	// nothing about what is in them.
	Workspaces []string
}

// Needed reports whether there is anything to protect.
func (r *Rules) Needed() bool { return len(r.Names)+len(r.DeniedGlobs)+len(r.AllowedGlobs) > 0 }

// Rules that refuse connections: to sockets of the machine, and to other hosts.
const (
	RuleSockets = "sandbox.unix_sockets"
	RuleNetwork = "sandbox.network"
)
