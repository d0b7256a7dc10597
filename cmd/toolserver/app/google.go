package app

import (
	"errors"
	"os"
	"os/exec"
	"runtime"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/config"
	pages "github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// Google returns the Google accounts of all principals. The error says that there are no credentials.
func (a *App) Google() (*signin.Accounts, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if accounts := a.families.Accounts(); accounts != nil {
		return accounts, nil
	}
	return nil, errors.New("there are no credentials for Google: set GOOGLE_CLIENT_ID and GOOGLE_CLIENT_SECRET, " +
		"or google.credentials_file in the configuration (docs/google.md says how to get them)")
}

// host returns what sign-ins know of this server.
func (a *App) host(cfg *config.Loaded) pages.Host {
	return pages.Host{
		Step: func(principal, to, step string) {
			a.Note("sign-in", principal, zap.String("server", to), zap.String("reason", step))
		},
		Serving: func() bool { return a.serving.Load().server != nil },
		Prove:   func(principal string) func(credential string) bool { return a.serving.Load().auth.prover(principal) },
		Identify: func(principal string) pages.Identifier {
			if who := a.now.Load().issued.Identify(principal); who != nil && a.serving.Load().public != nil {
				return who
			}
			return nil
		},
		Public:    func() *pages.Pages { return a.serving.Load().public },
		PublicURL: cfg.Server.PublicURL, Keeping: cfg.SignIns,
	}
}

// openBrowser opens a browser for who uses this server over stdio: over HTTP the person may be elsewhere, and on the command
// line they are asked.
func (a *App) openBrowser(address string) {
	if s := a.serving.Load(); s.server != nil && s.auth == nil {
		OpenBrowser(address)
	}
}

// closeSignIns ends the sign-ins that wait: calls need not wait for them any more when serving ends.
func (a *App) closeSignIns() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.families.Close()
}

// OpenBrowser opens a browser if there is a display. The person has the link in any case.
func OpenBrowser(address string) {
	name, args := "xdg-open", []string{address}
	switch {
	case runtime.GOOS == "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	case runtime.GOOS == "darwin":
		name = "open"
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return
	}
	if cmd := exec.Command(name, args...); cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // it may stay as long as the browser
	}
}
