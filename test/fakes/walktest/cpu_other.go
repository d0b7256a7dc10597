//go:build !unix

package walktest

import "time"

// CPUTime returns 0: this system does not tell.
func CPUTime() time.Duration { return 0 }
