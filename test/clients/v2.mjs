// The client of @modelcontextprotocol/client 2.x, which speaks both eras of
// the protocol: initialize ("legacy") and server/discover ("modern").

import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { openSession } from './session.mjs';

const MODERN = '2026-07-28';

// How a client may come to a revision, and the one it must come to.
export const NEGOTIATIONS = {
  legacy: { options: {}, wanted: '2025-11-25' },
  auto: { options: { versionNegotiation: { mode: 'auto' } }, wanted: MODERN },
  pinned: { options: { versionNegotiation: { mode: { pin: MODERN } } }, wanted: MODERN },
};

// In the modern era the client itself answers a result that asks for input, by
// the handler of the requests that ask for it in the legacy era.
const facts = {
  callTool: (client, params, options) => client.callTool(params, options),
  onUpdated: (client, heard) => client.setNotificationHandler('notifications/resources/updated', heard),
  onQuestion: (client, answer) => client.setRequestHandler('elicitation/create', answer),
  ServerError: ProtocolError,
};

export function connectV2(negotiation, target) {
  const { options, wanted } = NEGOTIATIONS[negotiation];
  const transport = target.transport === 'stdio'
    ? new StdioClientTransport({ ...target.process, stderr: 'pipe' })
    : new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers: target.headers } });
  const capabilities = target.person ? { elicitation: {} } : {};
  const client = new Client({ name: 'toolserver-clients', version: '1.0.0' }, { ...options, capabilities });
  return openSession({ target, client, transport, facts: { ...facts, wanted, modern: wanted === MODERN } });
}
