package system

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// byLabel is where udev(7) keeps a link to the device of each label.
const byLabel = "/dev/disk/by-label"

// driveLabels returns the labels of file systems by device. There are none
// where udev does not run, as in containers.
func driveLabels() map[string]string {
	entries, err := os.ReadDir(byLabel)
	if err != nil {
		return nil
	}
	labels := map[string]string{}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(byLabel, e.Name()))
		if err == nil {
			labels["/dev/"+filepath.Base(target)] = unescapeLabel(e.Name())
		}
	}
	return labels
}

// unescapeLabel undoes udev's encoding of a label in a file name: \x20 is a
// space.
func unescapeLabel(name string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(name, `\x`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if len(after) < 2 {
			return b.String() + `\x` + after
		}
		if c, err := strconv.ParseUint(after[:2], 16, 8); err == nil {
			b.WriteByte(byte(c))
			name = after[2:]
		} else {
			b.WriteString(`\x`)
			name = after
		}
	}
}
