package confine

import (
	_ "embed"
	"strings"

	"golang.org/x/sys/unix"
)

// rights are what a grant gives, as Landlock has them.
type rights uint64

const (
	canRead  rights = unix.LANDLOCK_ACCESS_FS_READ_FILE
	canList  rights = unix.LANDLOCK_ACCESS_FS_READ_DIR
	canExec  rights = unix.LANDLOCK_ACCESS_FS_EXECUTE
	canWrite rights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | fsReplace
	canDrive rights = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	canLook         = canRead | canList
)

//go:embed system.txt
var systemLines string

// ofSystem returns the paths or names of a kind in system.txt, whose head describes them.
func ofSystem(kind string) (words []string) {
	for line := range strings.Lines(systemLines) {
		if rest, ok := strings.CutPrefix(line, kind+": "); ok {
			words = append(words, strings.Fields(rest)...)
		}
	}
	return words
}

// system are the kinds of what every program needs.
var system = map[string]rights{
	"run": canLook | canExec, "look": canLook, "use": canRead | canWrite, "drive": canRead | canWrite | canDrive,
}

// kernelDirs hold what the kernel shows of itself and of devices. Of these commands
// have what system.txt lists and no more, unless Read names one.
var kernelDirs = []string{"/dev", "/proc", "/sys"}

// programDepth is how far down in trees of system.txt directories of programs are looked for.
const programDepth = 4
