//go:build !linux

package process

import "errors"

// supervisedMethods is empty: only Linux has supervisors.
var supervisedMethods [0]Method

func newSupervisedStarter(string, Method) (starter, error) {
	return nil, errors.ErrUnsupported
}

// Supervise is the main function of a supervisor. This system has none, and it
// returns an exit status that says so.
func Supervise(Confiner) int { return 1 }
