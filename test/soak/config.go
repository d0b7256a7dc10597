//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"
)

// sessionTTL is how long sessions live by configuration.
const sessionTTL = 5 * time.Second

// maxMessage is the longest message by configuration.
const maxMessage = 2 << 20

// switched is the tool that reloads take away and bring back.
const switched = "list_directory"

// configFile is the configuration of all servers.
type configFile struct{ path string }

// write puts the configuration in place at once, as editors do.
func (f configFile) write(off bool) error {
	return f.replace(fmt.Sprintf(`server: {session_ttl: %s, max_message: %d}
limits: {max_result_chars: 1000000}
logging: {level: warn, format: json}
tools: {%s: {enabled: %t}}
`, sessionTTL, maxMessage, switched, !off))
}

func (f configFile) replace(content string) error {
	if err := os.WriteFile(f.path+".new", []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(f.path+".new", f.path)
}

// reloads takes the switched tool away and brings it back, now and then with a
// file in between that is wrong and must change nothing. It leaves the tool on.
func (s *soak) reloads(phase context.Context, _ string, rng *rand.Rand) error {
	for off := true; phase.Err() == nil || !off; off = !off {
		if rng.IntN(4) == 0 {
			if err := s.file.replace("tools: [this is, no map\n"); err != nil {
				return err
			}
			s.tally.add("reloads", "of a wrong file")
			pause(phase, 500*time.Millisecond)
		}
		if err := s.file.write(off); err != nil {
			return err
		}
		for _, l := range []link{stdioLink{s.stdio, false}, httpLink{s.http, "", true}} {
			if err := s.applied(l, off); err != nil {
				return err
			}
		}
		s.tally.add("reloads", "applied")
		pause(phase, time.Duration(1+rng.IntN(3))*time.Second)
	}
	return nil
}

// applied waits until a server obeys the file.
func (s *soak) applied(l link, off bool) error {
	for deadline := time.Now().Add(patience); ; {
		names, err := listTools(s.ctx, l)
		if err != nil {
			return err
		}
		if slices.Contains(names, switched) != off {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: the configuration was not applied within %s", l, patience)
		}
		pause(s.ctx, 50*time.Millisecond)
		if s.ctx.Err() != nil {
			return errors.New("interrupted")
		}
	}
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
