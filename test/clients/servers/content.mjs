// What the servers beside this file offer, whichever library they are built on:
// everything that a list, a result or an error may have.

import { appendFile } from 'node:fs/promises';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const NOTED = { audience: ['user', 'assistant'], priority: 0.75, lastModified: '2026-01-02T03:04:05Z' };
const ICONS = [
  { src: `data:image/png;base64,${PNG}`, mimeType: 'image/png', sizes: ['1x1'], theme: 'light' },
  { src: 'https://example.com/icon.svg', mimeType: 'image/svg+xml' },
];
const OBJECT = { type: 'object', properties: {} };
const text = (value) => ({ content: [{ type: 'text', text: value }] });

// A failure that the server answers with as an error of the protocol.
export class Failure extends Error {
  constructor({ code, message, data }) {
    super(message);
    Object.assign(this, { code, data });
  }
}

const tools = {
  blocks: {
    entry: { title: 'All blocks', description: 'Returns blocks of all kinds.', inputSchema: OBJECT, icons: ICONS, annotations: { title: 'Blocks', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false } },
    call: () => ({
      content: [
        { type: 'text', text: 'é \u2028 "quoted" <b> &', annotations: NOTED, _meta: { 'example.com/block': 1.5 } },
        { type: 'image', data: PNG, mimeType: 'image/png', annotations: NOTED },
        { type: 'audio', data: WAV, mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'demo://text', mimeType: 'text/plain', text: 'embedded', _meta: { n: 1 } }, _meta: { m: 2 } },
        { type: 'resource', resource: { uri: 'demo://blob', mimeType: 'image/png', blob: PNG } },
        { type: 'resource_link', uri: 'demo://text', name: 'text', title: 'A text', description: 'Linked.', mimeType: 'text/plain', size: 4, icons: ICONS, annotations: NOTED },
      ],
      _meta: { 'example.com/result': { list: [1, null, 'x'] } },
    }),
  },
  keywords: {
    args: { kind: 'a', name: 'ann', items: [{ id: 1 }] },
    entry: {
      description: 'Has a schema with many keywords.',
      inputSchema: {
        $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', $defs: { item: { type: 'object', properties: { id: { type: 'integer' }, next: { $ref: '#/$defs/item' } }, required: ['id'] } },
        properties: { kind: { enum: ['a', 'b'] }, name: { type: 'string', minLength: 1, maxLength: 40 }, items: { type: 'array', items: { $ref: '#/$defs/item' }, maxItems: 5 }, size: { anyOf: [{ type: 'integer' }, { const: 'all' }] } },
        if: { properties: { kind: { const: 'a' } }, required: ['kind'] }, then: { required: ['name'] }, else: { properties: { size: { not: { const: 'all' } } } },
        dependentRequired: { size: ['kind'] }, required: ['kind'], additionalProperties: false, 'x-vendor': { order: ['b', 'a'] },
      },
    },
    call: (args) => text(JSON.stringify(args)),
  },
  structured: {
    args: { n: 3 },
    entry: {
      description: 'Returns structured content by a schema.', inputSchema: { type: 'object', properties: { n: { type: 'integer', default: 2 } } },
      outputSchema: { type: 'object', properties: { numbers: { $ref: '#/$defs/numbers' }, note: { type: ['string', 'null'] } }, required: ['numbers'], $defs: { numbers: { type: 'array', items: { type: 'number' } } } },
    },
    call: ({ n }) => {
      const structuredContent = { numbers: Array.from({ length: n }, (_, i) => i * 1.5), note: null };
      return { ...text(JSON.stringify(structuredContent)), structuredContent };
    },
  },
  app: {
    entry: { description: 'Has a user interface.', inputSchema: OBJECT, _meta: { 'ui/resourceUri': 'ui://demo/app.html', ui: { resourceUri: 'ui://demo/app.html', visibility: ['model', 'app'] }, 'example.com/x': [1, 2.5] } },
    call: () => ({ ...text('see the app'), _meta: { 'ui/resourceUri': 'ui://demo/app.html' } }),
  },
  refuse: {
    entry: { description: 'Fails with a result.', inputSchema: OBJECT },
    call: () => ({ ...text('not today'), isError: true }),
  },
  fail: {
    args: { code: 4711, message: 'out of paper', data: { tray: 2, list: [1.5, null] } },
    more: [{ code: -32602, message: 'wrong tray', data: { tray: 3 } }, { code: -32603, message: 'broken' }, { code: -32099, message: 'odd', data: 'text' }],
    entry: { description: 'Fails with an error of the protocol.', inputSchema: { type: 'object', properties: { code: { type: 'integer' }, message: { type: 'string' }, data: {} } } },
    call: (args) => { throw new Failure(args); },
  },
  progress: {
    args: { steps: 4 },
    entry: { description: 'Reports progress.', inputSchema: { type: 'object', properties: { steps: { type: 'integer' } } } },
    call: async ({ steps }, peer) => {
      for (let i = 1; i <= steps; i++) await peer.progress({ progress: i / 2, total: steps / 2, message: `step ${i}` });
      return text('done');
    },
  },
  log: {
    entry: { description: 'Logs.', inputSchema: OBJECT },
    call: async (args, peer) => {
      for (const level of ['info', 'warning', 'error', 'emergency']) await peer.log({ level, logger: 'demo', data: { level, n: 1.5 } });
      return text('logged');
    },
  },
  wait: {
    entry: { description: 'Waits until it is canceled, and says so in a file.', inputSchema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] } },
    cancels: true,
    call: async ({ at }, peer) => {
      await appendFile(at, 'begun\n');
      if (!peer.signal.aborted) await new Promise((resolve) => { peer.signal.addEventListener('abort', resolve); });
      await appendFile(at, 'canceled\n');
      return text('too late');
    },
  },
  elicit: {
    entry: { description: 'Asks the user.', inputSchema: OBJECT },
    asks: true,
    call: async (args, peer) => text(JSON.stringify(await peer.ask('who', 'elicitation/create', {
      mode: 'form', message: 'Who are you?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string', title: 'Name', minLength: 1 }, color: { type: 'string', enum: ['red', 'green'], default: 'red' } }, required: ['name'] },
    }))),
  },
  sample: {
    entry: { description: 'Has the model write.', inputSchema: OBJECT },
    asks: true,
    call: async (args, peer) => text(JSON.stringify(await peer.ask('poem', 'sampling/createMessage', {
      messages: [{ role: 'user', content: { type: 'text', text: 'Write a poem.' } }], maxTokens: 50, systemPrompt: 'You are a poet.', modelPreferences: { hints: [{ name: 'small' }], speedPriority: 0.5 },
    }))),
  },
};

// CALLS are what a client may call: {tool, args, cancels, asks}.
export const CALLS = Object.entries(tools).flatMap(([tool, { args = {}, more = [], cancels, asks }]) =>
  [args, ...more].map((one) => ({ tool, args: one, cancels, asks })));

const documents = {
  'demo://text': { mimeType: 'text/plain', text: 'text', _meta: { n: 1 } },
  'demo://blob': { mimeType: 'image/png', blob: PNG },
  'ui://demo/app.html': { mimeType: 'text/html;profile=mcp-app', text: '<p>app</p>' },
};

const prompts = {
  plain: () => ({
    description: 'Is plain.',
    messages: [
      { role: 'user', content: { type: 'text', text: 'plain' } }, { role: 'assistant', content: { type: 'image', data: PNG, mimeType: 'image/png' } },
      { role: 'user', content: { type: 'resource', resource: { uri: 'demo://text', mimeType: 'text/plain', text: 'text' } } },
    ],
  }),
  poem: ({ about, style = 'free' }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Write about ${about}, ${style}.` } }] }),
};

// METHODS answer requests: (params, peer) => result. A peer reports progress, logs,
// asks and has the signal of the request.
export const METHODS = {
  'tools/list': () => ({ tools: Object.entries(tools).map(([name, { entry }]) => ({ name, ...entry })) }),
  'tools/call': ({ name, arguments: args = {} }, peer) => {
    if (!tools[name]) throw new Failure({ code: -32602, message: `Unknown tool: ${name}` });
    return tools[name].call(args, peer);
  },
  'resources/list': () => ({
    resources: [
      { uri: 'demo://text', name: 'text', title: 'A text', description: 'Is static.', mimeType: 'text/plain', size: 4, annotations: { audience: ['user'], priority: 0.5 }, icons: ICONS, _meta: { x: 1 } },
      { uri: 'demo://blob', name: 'blob', mimeType: 'image/png' }, { uri: 'ui://demo/app.html', name: 'app', mimeType: 'text/html;profile=mcp-app' },
    ],
  }),
  'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'demo://items/{id}', name: 'item', title: 'An item', description: 'Has an ID.', mimeType: 'application/json' }] }),
  'resources/read': ({ uri }) => {
    const id = uri.match(/^demo:\/\/items\/(.+)$/)?.[1];
    if (!documents[uri] && !id) throw new Failure({ code: -32602, message: 'Resource not found', data: { uri } });
    return { contents: [{ uri, ...(id ? { mimeType: 'application/json', text: JSON.stringify({ id }) } : documents[uri]) }] };
  },
  'prompts/list': () => ({
    prompts: [
      { name: 'plain', description: 'Has no arguments.', icons: ICONS },
      { name: 'poem', title: 'A poem', description: 'Has arguments.', arguments: [{ name: 'about', description: 'What it is about.', required: true }, { name: 'style' }], _meta: { p: 1 } },
    ],
  }),
  'prompts/get': ({ name, arguments: args = {} }) => {
    if (!prompts[name]) throw new Failure({ code: -32602, message: `Unknown prompt: ${name}` });
    return prompts[name](args);
  },
  'completion/complete': ({ argument }) => {
    const values = ['haiku', 'hymn', 'limerick'].filter((word) => word.startsWith(argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  },
};

export const INFO = { name: 'demo', title: 'A demonstration', version: '1.0.0', icons: ICONS };
export const OPTIONS = { capabilities: { tools: { listChanged: true }, resources: {}, prompts: {}, completions: {}, logging: {} }, instructions: 'Try everything.' };
