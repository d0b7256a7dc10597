// Sessions of the official clients of which everything that the server sends is
// kept as it came, before the client looks at it: clients drop members they do not
// know, and refuse what others would take.

import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HTTPV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientV2, StreamableHTTPClientTransport as HTTPV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';

import { adopt } from './spawn.mjs';
import { NEGOTIATIONS } from './v2.mjs';

const CALL_MS = 15_000;
const INFO = { name: 'toolserver-clients', version: '1.0.0' };
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

const ANSWERS = {
  'elicitation/create': { action: 'accept', content: { name: 'Ann', color: 'green' } },
  'sampling/createMessage': { model: 'poet', role: 'assistant', content: { type: 'text', text: 'Roses are red.' }, stopReason: 'endTurn' },
  'roots/list': { roots: [] },
};

const v1 = {
  modern: false,
  client: () => new ClientV1(INFO, { capabilities: CAPABILITIES }),
  Stdio: StdioV1,
  HTTP: HTTPV1,
  onQuestion: (client, method, answer) => client.setRequestHandler({ 'elicitation/create': ElicitRequestSchema, 'sampling/createMessage': CreateMessageRequestSchema, 'roots/list': ListRootsRequestSchema }[method], answer),
  callTool: (client, params, options) => client.callTool(params, undefined, options),
};

const v2 = ({ options, wanted }) => ({
  modern: wanted === '2026-07-28',
  client: () => new ClientV2(INFO, { ...options, capabilities: CAPABILITIES }),
  Stdio: StdioV2,
  HTTP: HTTPV2,
  onQuestion: (client, method, answer) => client.setRequestHandler(method, answer),
  callTool: (client, params, options) => client.callTool({ ...params, _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } }, options), // a legacy server takes no notice
});

// RECORDED are the clients by their labels.
export const RECORDED = { 'sdk v1': v1, ...Object.fromEntries(Object.entries(NEGOTIATIONS).map(([name, how]) => [`sdk v2 ${name}`, v2(how)])) };

// openRecorded connects a client to {command, args, env, cwd} or {url}. Its methods
// make a request and return what came of it:
//   {answer, said, asked}
// the last answer, {result} or {error}, the notifications until then, and the
// questions the client answered.
export async function openRecorded(how, target) {
  const client = how.client();
  const transport = target.url ? new how.HTTP(new URL(target.url)) : new how.Stdio({ ...target, stderr: 'ignore' });
  const received = [];
  let asked = [];
  transport.onmessage = (message) => received.push(structuredClone(message));
  for (const [method, answer] of Object.entries(ANSWERS)) {
    how.onQuestion(client, method, ({ params }) => {
      const { _meta, ...question } = params ?? {};
      asked.push({ method, params: structuredClone(question) });
      return answer;
    });
  }
  client.onerror = () => {}; // what it dislikes shows in what it received
  await client.connect(transport, { timeout: CALL_MS });
  const child = transport.pid ? adopt(transport.pid) : undefined;

  async function exchange(request) {
    const begun = received.length;
    asked = [];
    let failure;
    await request().catch((error) => { failure = error; });
    const since = received.slice(begun);
    const answer = since.findLast((message) => !message.method && message.result?.resultType !== 'input_required');
    if (!answer) throw failure ?? new Error('no answer');
    const { result, error } = answer;
    return { answer: error ? { error } : { result }, said: since.filter((message) => message.method && message.id === undefined && message.method !== 'notifications/cancelled'), asked };
  }

  const options = { timeout: CALL_MS };
  const lists = {
    tools: (...args) => client.listTools(...args), resources: (...args) => client.listResources(...args),
    resourceTemplates: (...args) => client.listResourceTemplates(...args), prompts: (...args) => client.listPrompts(...args),
  };
  return {
    modern: how.modern,
    // list returns all items of a list as they came.
    async list(member) {
      const offered = client.getServerCapabilities()?.[member === 'resourceTemplates' ? 'resources' : member];
      const items = [];
      if (!offered) return items;
      let cursor;
      do {
        const { answer } = await exchange(() => lists[member](cursor === undefined ? {} : { cursor }, { ...options, cacheMode: 'refresh' }));
        if (answer.error) throw new Error(`${member}: ${JSON.stringify(answer.error)}`);
        items.push(...answer.result[member]);
        cursor = answer.result.nextCursor;
      } while (cursor !== undefined);
      return items;
    },
    call: (name, args) => exchange(() => how.callTool(client, { name, arguments: args }, { ...options, onprogress: () => {} })),
    // cancel calls a tool and takes the call back when begun() has settled.
    async cancel(name, args, begun) {
      const stop = new AbortController();
      const call = how.callTool(client, { name, arguments: args }, { ...options, signal: stop.signal }).catch(() => {});
      await begun();
      stop.abort();
      await call;
    },
    read: (uri) => exchange(() => client.readResource({ uri }, options)),
    prompt: (name, args) => exchange(() => client.getPrompt({ name, arguments: args }, options)),
    setLevel: (level) => (how.modern ? undefined : client.setLoggingLevel(level, options).catch(() => {})),
    async close() {
      await transport.terminateSession?.().catch(() => {});
      await client.close();
      child?.release();
    },
  };
}
