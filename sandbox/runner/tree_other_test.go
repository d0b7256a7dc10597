//go:build !linux

package runner_test

import (
	"os"

	"github.com/toolserver/toolserver/sandbox/process"
)

var testConfiner process.Confiner // only Linux has supervisors

func miniServer(process.Method) { os.Exit(2) }
