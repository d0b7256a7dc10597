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
	state, err := os.MkdirTemp("", "state-") // of the record
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", state)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(state)
	os.Exit(code)
}
