package app

import (
	"os"
	"testing"
)

// TestMain lets the test binary be the supervisor of the commands it runs, as
// the product's main does.
func TestMain(m *testing.M) {
	if code, isChild := RunChild(); isChild {
		os.Exit(code)
	}
	os.Exit(m.Run())
}
