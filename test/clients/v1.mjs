// The client of @modelcontextprotocol/sdk 1.x: handshake with initialize.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, McpError, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

import { openSession } from './session.mjs';

const facts = {
  wanted: '2025-11-25', // the last of the revisions that begin with initialize
  modern: false,
  callTool: (client, params, options) => client.callTool(params, undefined, options),
  onUpdated: (client, heard) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, heard),
  onQuestion: (client, answer) => client.setRequestHandler(ElicitRequestSchema, answer),
  ServerError: McpError,
};

export function connectV1(target) {
  const transport = target.transport === 'stdio'
    ? new StdioClientTransport({ ...target.process, stderr: 'pipe' })
    : new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers: target.headers } });
  const capabilities = target.person ? { elicitation: {} } : {};
  const client = new Client({ name: 'toolserver-clients', version: '1.0.0' }, { capabilities });
  return openSession({ target, client, transport, facts });
}
