// Package sandbox is the only way tools touch the world. It compiles one policy
// into what each tool is handed: files it may open (package pathguard) and
// commands it may run (packages command and runner).
package sandbox
