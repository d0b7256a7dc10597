// Package domain defines what a tool server is, without saying how tools do
// their work or how requests arrive: the [Tool], its [ToolInputSchema], the
// [ToolResult] it returns, the [Registry] that holds tools, the [Error] codes
// callers see, and the [Executor] every call goes through.
//
// It does no I/O and imports nothing of this module but its own subpackages.
package domain
