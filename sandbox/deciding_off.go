//go:build undecided

package sandbox

const deciding = false
