// The demonstration server on the TypeScript SDK v2, in both generations of the
// protocol:
//
//   node v2.mjs stdio | http
//
// Over HTTP it prints its URL.

import { createServer } from 'node:http';

import { toNodeHandler } from '@modelcontextprotocol/node';
import { Server, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

import { INFO, METHODS, OPTIONS } from './content.mjs';

// Required is thrown by a handler that cannot go on without an answer: in the modern
// generation the question is the result.
class Required {
  constructor(inputRequests) {
    this.result = { resultType: 'input_required', inputRequests };
  }
}

function peer({ mcpReq }, modern) {
  const { signal, _meta, notify, send, inputResponses } = mcpReq;
  return {
    signal,
    progress: (params) => _meta?.progressToken !== undefined && notify({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, ...params } }),
    log: ({ level, data, logger }) => mcpReq.log(level, data, logger),
    ask: (key, method, params) => {
      if (!modern) return send({ method, params });
      if (inputResponses?.[key] === undefined) throw new Required({ [key]: { method, params } });
      return inputResponses[key];
    },
  };
}

function build({ era }) {
  const server = new Server(INFO, OPTIONS);
  for (const [method, answer] of Object.entries(METHODS)) {
    server.setRequestHandler(method, async ({ params = {} }, context) => {
      try {
        return await answer(params, peer(context, era === 'modern'));
      } catch (error) {
        if (error instanceof Required) return error.result;
        throw error;
      }
    });
  }
  return server;
}

if (process.argv[2] === 'http') {
  const handler = toNodeHandler(createMcpHandler(build));
  const listener = createServer(handler);
  listener.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${listener.address().port}/mcp`));
} else {
  serveStdio(build);
}
