//go:build !linux

package runner

import (
	"errors"
	"os"
)

// supervisedMethods is empty: only Linux has them.
var supervisedMethods [0]Method

func newSupervisedStarter(string, Method, *launcher) (starter, error) {
	return nil, errors.ErrUnsupported
}

// Self returns the path of this program for [Options.Supervisor].
func Self() (string, error) { return os.Executable() }

// Supervise is the life of a supervisor; on this system there are none, and it
// returns an exit status that says so.
func Supervise(Confiner) int { return 1 }
