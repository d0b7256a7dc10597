//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	sessionTTL = 5 * time.Second         // by configuration
	streamGone = 15 * time.Second        // a stream notices with its next keep-alive that its client has gone
	maxMessage = 2 << 20                 // by configuration
	switched   = "list_directory"        // the tool that some reloads take away
	secret     = "soak-0123456789abcdef" // the token that clients present
)

// configFile is the path of a configuration.
type configFile struct{ path string }

// families are settings of one family each, which reloads change in turn. They
// differ by number. Lists come under tools, before the rest.
var families = []func(n int) (tools, rest string){
	func(n int) (string, string) { return "", fmt.Sprintf("users: {soak: {groups: [staff, g%d]}}\n", n) },
	func(n int) (string, string) {
		return fmt.Sprintf("  linkedin_jobs: {groups: [staff, g%d]}\n", n),
			"users: {soak: {groups: [staff]}, local: {groups: [staff]}}\n"
	},
	func(n int) (string, string) {
		return fmt.Sprintf("  read_file: {denied_paths: [/nonexistent/%d]}\n", n), ""
	},
	func(n int) (string, string) {
		return fmt.Sprintf("  bash: {denied_commands: [none-%d], inline_code: allow, opaque_scripts: allow}\n", n), ""
	},
	func(n int) (string, string) { return "", fmt.Sprintf("web: {user_agent: soak/%d}\n", n) },
	func(n int) (string, string) { return "", fmt.Sprintf("anthropic: {model: model-%d}\n", n) },
	func(n int) (string, string) { return "  " + switched + ": {enabled: false}\n", "" },
	func(n int) (string, string) {
		return fmt.Sprintf("  system_info: {mask: [%s]}\n", [...]string{"hostname", "user"}[n%2]), ""
	},
	func(n int) (string, string) { return "", "" }, // the extra token and the limits alone
}

func tokenEntry(name, secret string) string {
	return fmt.Sprintf(`{name: %s, hash: "sha256:%x"}`, name, sha256.Sum256([]byte(secret)))
}

// version is what lists show when the reload with a number is in force.
func version(n int) string { return fmt.Sprintf("Reload %d.", n) }

// write puts the configuration with a number in place. With an old time of change
// only a hangup has it applied at once; without, the servers find it.
func (f configFile) write(n int, old bool) error {
	tools, rest := families[n%len(families)](n)
	return f.replace(fmt.Sprintf(`server: {session_ttl: %s, max_message: %d, tokens: [%s, %s]}
limits: {max_result_chars: 1000000, per_tool: %d}
logging: {level: warn, format: json}
tools:
  echo: {description: %s}
%s%s`, sessionTTL, maxMessage, tokenEntry("soak", secret), tokenEntry("other", fmt.Sprint(n)),
		1000+n, version(n), tools, rest), old)
}

// replace puts a file in place at once, as editors do.
func (f configFile) replace(content string, old bool) error {
	if err := os.WriteFile(f.path+".new", []byte(content), 0o644); err != nil {
		return err
	}
	if old {
		past := time.Now().Add(-time.Minute)
		if err := os.Chtimes(f.path+".new", past, past); err != nil {
			return err
		}
	}
	return os.Rename(f.path+".new", f.path)
}

// reloadFor reloads every few seconds for d, now and then with a file in between
// that is wrong and must change nothing.
func (s *soak) reloadFor(d time.Duration) error {
	phase, end := context.WithTimeout(s.ctx, d)
	defer end()
	rng := rand.New(rand.NewPCG(s.seed, s.number()))
	for phase.Err() == nil {
		if rng.IntN(4) == 0 {
			if err := s.file.replace("tools: [this is, no map\n", false); err != nil {
				return err
			}
			s.tally.add("reloads", "of a wrong file")
			pause(phase, 500*time.Millisecond)
		}
		if err := s.reloadOnce(); err != nil {
			return err
		}
		pause(phase, time.Duration(1+rng.IntN(3))*time.Second)
	}
	return nil
}

// reloadTo reloads without a pause up to a number. Four times in all it notes
// what the servers use.
func (s *soak) reloadTo(last int) error {
	for s.reload < last {
		if err := s.reloadOnce(); err != nil {
			return err
		}
		if s.reload%max(1, (s.reloads+3)/4) != 0 {
			continue
		}
		for _, v := range s.servers {
			u, err := usageOf(v.pid())
			if err != nil {
				return err
			}
			s.tally.note(fmt.Sprintf("reload %d", s.reload), v.name, u)
		}
	}
	return nil
}

// reloadOnce has the servers apply one more configuration, and waits until they
// do.
func (s *soak) reloadOnce() error {
	s.reload++
	hangup := s.reload%4 != 0
	if err := s.file.write(s.reload, hangup); err != nil {
		return err
	}
	if hangup {
		for _, v := range s.servers {
			v.signal(syscall.SIGHUP)
		}
		s.tally.add("reloads", "by a hangup")
	} else {
		s.tally.add("reloads", "by a rename")
	}
	for _, v := range s.servers {
		for deadline := time.Now().Add(patience); ; pause(s.ctx, 5*time.Millisecond) {
			list, err := v.link.Call(s.ctx, "tools/list", nil)
			if err != nil {
				return err
			}
			if strings.Contains(string(list), version(s.reload)) {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s: reload %d was not applied within %s", v.name, s.reload, patience)
			}
		}
	}
	return nil
}
