//go:build linux && !amd64

package main

import "errors"

func otherABI(string) error { return errors.ErrUnsupported }
