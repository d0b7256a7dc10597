// The demonstration server on the TypeScript SDK v1:
//
//   node v1.mjs stdio | http
//
// Over HTTP it prints its URL.

import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';

import { INFO, METHODS, OPTIONS } from './content.mjs';

const SCHEMAS = {
  'tools/list': types.ListToolsRequestSchema, 'tools/call': types.CallToolRequestSchema,
  'resources/list': types.ListResourcesRequestSchema, 'resources/templates/list': types.ListResourceTemplatesRequestSchema, 'resources/read': types.ReadResourceRequestSchema,
  'prompts/list': types.ListPromptsRequestSchema, 'prompts/get': types.GetPromptRequestSchema, 'completion/complete': types.CompleteRequestSchema,
};

const ANSWERS = { 'elicitation/create': types.ElicitResultSchema, 'sampling/createMessage': types.CreateMessageResultSchema };

function build() {
  const server = new Server(INFO, OPTIONS);
  for (const [method, answer] of Object.entries(METHODS)) {
    server.setRequestHandler(SCHEMAS[method], ({ params = {} }, { signal, _meta, sendNotification, sendRequest }) => answer(params, {
      signal,
      progress: (params) => _meta?.progressToken !== undefined && sendNotification({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, ...params } }),
      log: (params) => sendNotification({ method: 'notifications/message', params }),
      ask: (key, method, params) => sendRequest({ method, params }, ANSWERS[method]),
    }));
  }
  return server;
}

async function serveHTTP() {
  const sessions = new Map();
  const listener = createServer(async (req, res) => {
    let transport = sessions.get(req.headers['mcp-session-id']);
    if (!transport && req.headers['mcp-session-id']) return res.writeHead(404).end();
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => sessions.set(id, transport),
        onsessionclosed: (id) => sessions.delete(id),
      });
      await build().connect(transport);
    }
    return transport.handleRequest(req, res);
  });
  listener.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${listener.address().port}/mcp`));
}

if (process.argv[2] === 'http') await serveHTTP();
else await build().connect(new StdioServerTransport());
