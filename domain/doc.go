// Package domain defines what a tool server is, without saying how tools do
// their work or how requests arrive: the [Tool], its [ToolInputSchema], the
// [ToolResult] it returns, the [Registry] that holds tools, the [Error] codes
// callers see, and the [Executor] every call goes through.
//
// It does no I/O and imports, of this module, only the leaf packages share,
// structschema and rawjson, and its own subpackages.
package domain
