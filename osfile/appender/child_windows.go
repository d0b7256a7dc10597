package appender

import "os"

// byChild reports that no child has begun.
func byChild(*os.File, int64, []byte, string) (begun bool, err error) { return false, nil }

// RunChild is the life of a child; on this system there are none, and it returns
// an exit status that says so.
func RunChild() int { return 1 }
