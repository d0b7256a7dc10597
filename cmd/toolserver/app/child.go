package app

import (
	"toolserver/sandbox/appender"
	"toolserver/sandbox/confine"
	"toolserver/sandbox/process"
)

// RunChild does the work of a child process of the server and returns its exit
// code, if this process was started as one: the program starts itself again to
// supervise commands and to append to files. Its main calls it first.
func RunChild() (code int, isChild bool) {
	switch {
	case appender.IsChild():
		return appender.RunChild(), true
	case process.IsSupervisor():
		return process.Supervise(confine.Start), true
	}
	return 0, false
}
