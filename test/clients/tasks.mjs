// Drives tasks with the client of the extension's own authors, over both transports:
//
//   node tasks.mjs FIXTURE
//
// Every message that the server sends about tasks is held to the schemas which they publish.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import {
  CancelTaskResultV2Schema, CreateTaskResultV2Schema, GetTaskResultV2Schema, UpdateTaskResultV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2';

import { serveHTTP, within } from './spawn.mjs';

const VERSION = '2026-07-28';
const TASKS = 'io.modelcontextprotocol/tasks';
const fixture = realpathSync(process.argv[2]);
const directory = mkdtempSync('/var/tmp/tasks-');
const work = join(directory, 'work');
mkdirSync(work);
const config = join(directory, 'config.yaml');
writeFileSync(config, JSON.stringify({ working_directory: work, state_directory: join(directory, 'state') }));

const framing = {
  protocolVersion: VERSION, clientInfo: { name: 'toolserver-clients', version: '1.0.0' },
  clientCapabilities: { elicitation: { form: {} }, extensions: { [TASKS]: {} } },
};
const schemas = { 'tasks/get': GetTaskResultV2Schema, 'tasks/update': UpdateTaskResultV2Schema, 'tasks/cancel': CancelTaskResultV2Schema };

// overHTTP and overStdio return a client and what sends a request as it is.
async function overHTTP(binary) {
  const { url, stop } = await serveHTTP({ binary, config });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  return {
    transport,
    send: async (message, signal) => {
      const { method, params } = message;
      const response = await fetch(url, {
        method: 'POST', body: JSON.stringify(message), signal,
        headers: {
          'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': VERSION, 'mcp-method': method,
          ...(params.name ?? params.taskId ? { 'mcp-name': params.name ?? params.taskId } : {}),
        },
      });
      const text = await response.text();
      const events = text.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
      return JSON.parse(events.at(-1) ?? text);
    },
    end: stop,
  };
}

async function overStdio(binary) {
  const transport = new StdioClientTransport({ command: binary, args: ['serve', '--stdio', '--config', config], stderr: 'ignore' });
  const waiting = new Map();
  return {
    transport,
    hears: (message) => {
      const answer = waiting.get(message.id);
      waiting.delete(message.id);
      answer?.(message);
      return answer !== undefined;
    },
    send: (message) => new Promise((done, failed) => {
      waiting.set(message.id, done);
      transport.send(message).catch(failed);
    }),
    end: () => {},
  };
}

async function open(how, binary) {
  const door = await how(binary);
  const client = new Client(framing.clientInfo, { versionNegotiation: { mode: { pin: VERSION } }, capabilities: { elicitation: { form: {} } } });
  await client.connect(door.transport);
  const usual = door.transport.onmessage;
  door.transport.onmessage = (message, ...rest) => door.hears?.(message) || usual(message, ...rest);
  let sent = 0;
  const said = [];
  const rawDispatch = async ({ method, params }, { signal } = {}) => {
    const answer = await door.send({ jsonrpc: '2.0', id: `raw-${++sent}`, method, params }, signal);
    if (answer.error) return { kind: 'error', error: answer.error };
    if (schemas[method]) schemas[method].parse(answer.result);
    else if (answer.result.resultType === 'task') CreateTaskResultV2Schema.parse(answer.result);
    said.push(answer.result);
    return { kind: 'result', result: answer.result };
  };
  const asked = [];
  const session = createTaskSessionFromClient(client, {
    endpointId: 'toolserver', rawDispatch, v2RequestFraming: framing,
    onInputRequest: async (request) => {
      asked.push(request.params.message);
      return { action: 'accept', content: {} };
    },
  });
  return { session, asked, said, rawDispatch, close: async () => { await session.close(); await client.close(); await door.end(); } };
}

// settled calls a tool to its end.
async function settled(session, name, args) {
  const execution = await session.callTool(name, args);
  const { outcome } = await within(30_000, name, execution.settle());
  return { kind: execution.kind, outcome, text: outcome.status === 'completed' ? resultFromTaskOutcome(outcome).content.map((c) => c.text ?? '').join('\n') : '' };
}

const checks = {
  'a call that is fast is none': async ({ session }) => {
    const { kind, text } = await settled(session, 'fixture_do', { do: 'ok' });
    assert.equal(kind, 'immediate');
    assert.equal(text, 'did ok');
  },
  'a result': async ({ session }) => {
    const { kind, text } = await settled(session, 'fixture_do', { do: 'task ok' });
    assert.equal(kind, 'task');
    assert.equal(text, 'did ok');
  },
  'a command that takes long': async ({ session }) => {
    const { kind, text } = await settled(session, 'bash', { command: 'sleep 6; echo slow' });
    assert.equal(kind, 'task');
    assert.match(text, /^slow/);
  },
  'a command in the background': async ({ session }) => {
    const { kind, text } = await settled(session, 'bash', { command: 'echo done; exit 3', background: true });
    assert.equal(kind, 'task');
    assert.match(text, /done\n\[job \S+ ended with exit code 3/);
  },
  'a failure': async ({ session }) => {
    const { outcome } = await settled(session, 'fixture_do', { do: 'task fail', at: 'why' });
    assert.equal(outcome.status, 'failed');
    assert.equal(outcome.error.code, -32005);
  },
  'a panic': async ({ session }) => assert.equal((await settled(session, 'fixture_do', { do: 'task panic' })).outcome.status, 'failed'),
  'a question, whose key is used once': async ({ session, asked }) => {
    const before = asked.length;
    assert.match((await settled(session, 'fixture_do', { do: 'task ask', at: 'ti' })).text, /did ask: accept/);
    assert.equal(asked.length, before + 1, 'asked once');
    assert.equal(asked.at(-1), 'Is it it?');
  },
  'a cancel': async ({ session }) => {
    const execution = await session.callTool('fixture_do', { do: 'task hold', at: work });
    await execution.cancel();
    assert.equal((await within(30_000, 'the end', execution.result())).status, 'cancelled');
  },
  'no task of nobody': async ({ rawDispatch }) => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': VERSION, 'io.modelcontextprotocol/clientInfo': framing.clientInfo,
      'io.modelcontextprotocol/clientCapabilities': framing.clientCapabilities,
    };
    for (const taskId of ['x', `${'a'.repeat(12)}-${'a'.repeat(26)}`]) {
      const { kind, error } = await rawDispatch({ method: 'tasks/get', params: { taskId, _meta: meta } });
      assert.deepEqual([kind, error.code], ['error', -32602]);
    }
  },
};

let failed = 0;
for (const [transport, how] of Object.entries({ http: overHTTP, stdio: overStdio })) {
  const all = await open(how, fixture);
  let passed = 0;
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check(all);
      passed++;
    } catch (error) {
      failed++;
      console.log(`FAIL tasks over ${transport} > ${name}\n${error.stack}`);
    }
  }
  await all.close();
  console.log(`tasks over ${transport}: ${passed} of ${Object.keys(checks).length} passed, ${all.said.length} results as the schemas say`);
}
rmSync(directory, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
