// Package server offers a registry of tools to MCP clients, over stdio and over
// Streamable HTTP, to clients of both protocol eras: those that shake hands
// first (2024-11-05 to 2025-11-25) and those that do not (2026-07-28).
//
// It owns the edge: framing, ids, sessions, order, cancellation, identity, and
// the questions calls ask of clients. Everything clients ask for goes to the
// [domain.Executor]; the types and header rules of the protocol are mcp-go's.
// This way ids come back exactly as sent, a call can fail with any code, what a
// call says precedes its answer, and a message is read once.
package server
