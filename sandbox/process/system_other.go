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

// MachineMemory is not known: here nothing bounds the memory of commands.
func MachineMemory() int64 { return 0 }

// FreeSpace is not known: here nothing bounds what commands write.
func FreeSpace(string) int64 { return 0 }

// CheckUsers returns why commands cannot run as other users: only Linux has supervisors.
func CheckUsers() error { return errors.ErrUnsupported }

// Hide does nothing: what it would do is particular to Linux.
func Hide() {}
