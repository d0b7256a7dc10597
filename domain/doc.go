// Package domain defines what a tool server is, without saying how tools do
// their work or how requests arrive: the [Tool], the [ToolResult] it returns, the
// [Registry] that holds tools, and the [Error] codes callers see. Package call is
// the executor that every call goes through.
//
// It does no I/O.
package domain
