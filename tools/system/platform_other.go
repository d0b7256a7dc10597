//go:build !linux && !darwin && !windows

package system

import "runtime"

// readPlatform tells what the Go runtime knows of any system.
func readPlatform() platform {
	return platform{name: runtime.GOOS, machine: runtime.GOARCH, processor: runtime.GOARCH}
}
