// A bare server of the TypeScript SDK with one tool, echo, over stdio.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "echo", version: "1.32.2" });
server.registerTool(
  "echo",
  { description: "Echoes a message.", inputSchema: { message: z.string() } },
  async ({ message }) => ({ content: [{ type: "text", text: `Echo: ${message}` }] }),
);
await server.connect(new StdioServerTransport());
