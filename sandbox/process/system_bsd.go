//go:build unix && !linux

package process

import "syscall"

func groupAttr(string) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func hasLiveMember(int) bool { return true } // kill(2) does not see the dead there
