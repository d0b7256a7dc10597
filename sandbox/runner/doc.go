// Package runner runs commands to their end, or as background jobs, with limits on
// their output, their time and their number. Package process starts and terminates
// them; neither decides whether a command may run.
package runner
