//go:build !linux

package system

import "net"

func linkType(i *net.Interface) string { return flagType(i) }

// linkSpeed returns 0: there is no cheap way to ask.
func linkSpeed(string) int { return 0 }
