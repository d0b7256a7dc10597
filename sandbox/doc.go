// Package sandbox is the only way tools touch the world. It compiles one policy
// into what each tool is handed: files it may open (package pathguard),
// commands it may run (packages command, confine and runner), and hosts it may
// reach (package netguard).
package sandbox
