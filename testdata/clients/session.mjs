// The shape every client has for the tests:
//   sees      {data, progress, everyProgress, cancel, state, types}: what it
//             can show or do
//   problems  what the client complained about: stray or malformed messages
//   wire      "progress" and "answer" for each such message, as they came
//   list()    every tool, in the order the server sent them
//   call(name, arguments, {onprogress, signal})   -> {result} or {error}
//   info()    {protocol, wanted, server, instructions} of the handshake
//   log()     the last lines the server logged
//   close()   ends the session; for stdio, the server

import assert from 'node:assert/strict';

import { Tail, adopt, alive, until } from './spawn.mjs';

// The SDKs give their own complaints codes of the protocol too, so that a result
// they refuse looks like an error the server sent. It is told by its words.
export const OWN_COMPLAINT = /Request timed out|Connection closed|structured content|output schema/i;

const CALL_MS = 20_000;
const EXIT_MS = 1_800; // less than the grace after which the SDKs send SIGTERM

// openSession connects a client of either TypeScript SDK. `facts` holds what
// differs: how to call a tool, the class of the errors a server sends, and the
// protocol revision the handshake must end with.
export async function openSession({ target, client, transport, facts }) {
  const tail = new Tail(transport.stderr);
  const log = () => target.log?.() ?? tail.text;
  const problems = [];
  const wire = [];
  let protocol;
  client.onerror = (error) => problems.push(error.message);
  transport.onmessage = (message) => { // the SDKs call it before their own
    wire.push(...kindOf(message));
    protocol = message.result?.protocolVersion ?? protocol;
  };
  await connect(client, transport, log);
  const child = transport.pid ? adopt(transport.pid) : undefined;
  return {
    sees: { data: true, progress: true, cancel: true, state: true, types: true, everyProgress: target.transport === 'http' },
    problems,
    wire,
    list: () => allPages(client),
    call: (name, args, options) => call(facts, client, { name, arguments: args }, { timeout: CALL_MS, ...options }),
    info: () => ({
      protocol: client.getNegotiatedProtocolVersion?.() ?? protocol,
      wanted: facts.wanted,
      server: client.getServerVersion(),
      instructions: client.getInstructions(),
    }),
    log,
    close: () => close(client, transport, child),
  };
}

async function connect(client, transport, log) {
  try {
    await client.connect(transport, { timeout: CALL_MS });
  } catch (error) {
    error.message += `\nserver log: ${log()}`;
    await client.close().catch(() => {});
    throw error;
  }
}

function kindOf(message) {
  if (message.method === 'notifications/progress') return ['progress'];
  return 'result' in message || 'error' in message ? ['answer'] : [];
}

async function allPages(client) {
  const tools = [];
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: CALL_MS });
    assert.ok(page.tools.length > 0, 'no page of tools/list is empty');
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

async function call(facts, client, params, options) {
  try {
    return { result: await facts.callTool(client, params, options) };
  } catch (error) {
    const sent = error instanceof facts.ServerError && !OWN_COMPLAINT.test(error.message);
    if (!sent || options.signal?.aborted) throw error;
    const message = error.message.replace(/^MCP error -?\d+: /, '');
    return { error: { code: error.code, message, data: error.data } };
  }
}

// close ends the client. A server on stdio must exit by itself when its input
// ends; the SDK would only later send signals.
async function close(client, transport, child) {
  const { pid } = transport;
  await transport.terminateSession?.();
  const closed = client.close();
  if (child) {
    await until(EXIT_MS, 'server exits at the end of its input', () => !alive(pid));
    child.release();
  }
  await closed;
}
