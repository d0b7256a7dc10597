// A bare server of the TypeScript SDK with one tool, echo: over stdio, or over
// HTTP on the address it is given, with sessions and JSON answers.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

function newServer() {
  const server = new McpServer({ name: "echo", version: "1.32.2" });
  server.registerTool(
    "echo",
    { description: "Echoes a message.", inputSchema: { message: z.string() } },
    async ({ message }) => ({ content: [{ type: "text", text: `Echo: ${message}` }] }),
  );
  return server;
}

// As the SDK's own examples do it, but for Express, which would cost it more
// and refuses bodies of more than 100 kB.
function serveHTTP(address) {
  const sessions = new Map();
  const listener = createServer(async (req, res) => {
    let transport = sessions.get(req.headers["mcp-session-id"]);
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({
        enableJsonResponse: true,
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, transport),
      });
      transport.onclose = () => sessions.delete(transport.sessionId);
      await newServer().connect(transport);
    }
    await transport.handleRequest(req, res);
  });
  const colon = address.lastIndexOf(":");
  listener.listen(Number(address.slice(colon + 1)), address.slice(0, colon));
}

if (process.argv.length > 2) {
  serveHTTP(process.argv[2]);
} else {
  await newServer().connect(new StdioServerTransport());
}
