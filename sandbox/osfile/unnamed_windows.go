package osfile

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"
)

// Unnamed returns a temporary file that the system deletes with its last handle.
func Unnamed() (*os.File, error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("output-%d-%d.tmp", os.Getpid(), time.Now().UnixNano()))
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|windows.FILE_FLAG_DELETE_ON_CLOSE, 0o600)
}
