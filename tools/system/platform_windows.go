package system

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// firstWindows11 is the first build that is called Windows 11. Its version
// still says 10.
const firstWindows11 = 22000

func readPlatform() platform {
	v := windows.RtlGetVersion()
	product := fmt.Sprint(v.MajorVersion)
	if v.MajorVersion == 10 && v.BuildNumber >= firstWindows11 {
		product = "11"
	}
	return platform{
		name:      "Windows " + product,
		release:   product,
		version:   fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber),
		machine:   os.Getenv("PROCESSOR_ARCHITECTURE"),
		processor: os.Getenv("PROCESSOR_IDENTIFIER"),
		uptime:    windows.DurationSinceBoot(),
	}
}
