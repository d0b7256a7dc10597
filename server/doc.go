// Package server offers a registry of tools to MCP clients, over stdio and over
// Streamable HTTP, to clients of both protocol eras: those that shake hands
// first (2024-11-05 to 2025-11-25) and those that do not (2026-07-28).
//
// It owns the edge: framing, ids, sessions, order, cancellation, identity and
// the two methods that carry the load, tools/call and tools/list, which go to
// the [domain.Executor]. Every other method is mcp-go's. This way ids come back
// exactly as sent, a call can fail with any code, what a call reports precedes
// its answer, and a message is read once.
package server
