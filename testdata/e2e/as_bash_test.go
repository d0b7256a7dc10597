//go:build linux

package e2e

import (
	"encoding/json"
	"testing"
)

func sameAsBash(t *testing.T, command string, setup []string, tools json.RawMessage, enforcement string) {
}
