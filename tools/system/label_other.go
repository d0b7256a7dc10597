//go:build !linux

package system

// driveLabels returns nothing: asking for a label may block on a drive that is
// gone.
func driveLabels() map[string]string { return nil }
