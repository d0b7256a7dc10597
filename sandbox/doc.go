// Package sandbox is the only way tools touch the world. It compiles one policy
// into what each tool is handed: files it may open (package pathguard),
// commands it may run (packages command, confine and runner), hosts it may
// reach (package netguard), and a private directory for its state. A tool gets what
// it declares in an [Owner], and nothing else; the package knows no tool by name.
package sandbox
