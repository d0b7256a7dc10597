package system

import (
	"time"

	"golang.org/x/sys/unix"
)

func readPlatform() platform {
	p := uname()
	p.name = "macOS"
	if version, err := unix.Sysctl("kern.osproductversion"); err == nil {
		p.name += " " + version
	}
	p.processor = p.machine
	if model, err := unix.Sysctl("machdep.cpu.brand_string"); err == nil {
		p.processor = model
	}
	if boot, err := unix.SysctlTimeval("kern.boottime"); err == nil {
		p.uptime = time.Since(time.Unix(boot.Unix()))
	}
	return p
}
