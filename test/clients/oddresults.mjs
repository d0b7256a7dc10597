// Results with every member of every wrong kind, returned by an MCP server behind toolserver,
// and the real clients as judges: none of them may reject what arrives, and what is valid
// has to arrive as it was sent.
//
//   node oddresults.mjs TOOLSERVER
//   node oddresults.mjs serve         the server, over stdio

import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CallToolResultSchema, GetPromptResultSchema, ReadResourceResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { createInterface } from 'node:readline';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { join } from 'node:path';
import { tmpdir } from 'node:os';

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const annotations = { audience: ['user'], priority: 0.5, lastModified: '2026-01-02T03:04:05Z' };
const icons = [{ src: 'https://example.com/i.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' }];
const wrong = [null, true, false, 0, -1, 1.5, 1e300, '', 'text', '***', 'data:image/png;base64,' + pixel, [], [null], [1], ['a'], [{}], {}, { a: null }, { uri: 'x://y' }];

const documents = [
  { uri: 'shape://x', mimeType: 'text/plain', text: 't', _meta: { a: 1 } },
  { uri: 'shape://x', mimeType: 'image/png', blob: pixel, _meta: { a: 1 } },
];
const blocks = [
  { type: 'text', text: 't', annotations, _meta: { a: 1 } },
  { type: 'image', data: pixel, mimeType: 'image/png', annotations, _meta: { a: 1 } },
  { type: 'audio', data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEA', mimeType: 'audio/wav', annotations, _meta: { a: 1 } },
  { type: 'resource_link', uri: 'x://y', name: 'n', title: 't', description: 'd', mimeType: 'text/plain', size: 7, icons, annotations, _meta: { a: 1 } },
  ...documents.map((resource) => ({ type: 'resource', resource, annotations, _meta: { a: 1 } })),
];

// variants returns what becomes of a value if one member in it, however deep, is wrong or missing.
function variants(value, deep = 3) {
  const all = [];
  if (deep > 0 && value && typeof value === 'object') {
    for (const key of Object.keys(value)) {
      const put = (member) => (Array.isArray(value) ? value.with(key, member) : { ...value, [key]: member });
      all.push(...wrong.map(put), ...variants(value[key], deep - 1).map(put));
      if (!Array.isArray(value)) all.push(Object.fromEntries(Object.entries(value).filter(([name]) => name !== key)));
    }
  }
  return all;
}

const whole = { content: [blocks[0]], structuredContent: { n: 1 }, isError: false, _meta: { a: 1 } };
const odd = [...wrong, { type: 'json', json: { a: 1 } }, { text: 'untyped' }, { type: 'tool_use', id: '1', name: 'n', input: {} }];
const results = (block) => ({ ...whole, content: [{ type: 'text', text: 'before' }, block, { type: 'text', text: 'after' }] });
const KINDS = {
  tools: [
    ...[...blocks, ...blocks.flatMap((block) => variants(block)), ...odd].map(results), ...variants(whole, 1),
    { content: [], _meta: { progressToken: null } }, { content: [], _meta: { 'io.modelcontextprotocol/related-task': 1 } }, {},
  ],
  resources: [...documents, ...documents.flatMap((document) => variants(document)), ...odd].map((document) => ({ contents: [document] }))
    .concat(variants({ contents: [documents[0]], _meta: { a: 1 } }, 1), [{ contents: documents[0] }]),
  prompts: [...blocks, ...blocks.flatMap((block) => variants(block, 1)), ...odd].map((content) => ({ messages: [{ role: 'user', content }] }))
    .concat(variants({ description: 'd', messages: [{ role: 'user', content: blocks[0] }], _meta: { a: 1 } }, 3), [{ messages: [{ role: 'system', content: blocks }] }]),
};
const SCHEMAS = { tools: CallToolResultSchema, resources: ReadResourceResultSchema, prompts: GetPromptResultSchema };
const told = [
  ...wrong.map((level) => ['notifications/message', { level, data: 'd' }]), ...wrong.map((logger) => ['notifications/message', { level: 'error', logger, data: 'd' }]),
  ['notifications/message', { level: 'error' }],
  ...['progress', 'total', 'message'].flatMap((name) => wrong.map((value) => ['notifications/progress', { progress: 1, [name]: value }])),
];

function serve() {
  const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    const results = {
      initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {}, resources: {}, prompts: {}, logging: {} }, serverInfo: { name: 'odd', version: '1' } }),
      'tools/list': () => ({ tools: [{ name: 'tell', inputSchema: { type: 'object' } }, { name: 'odd', inputSchema: { type: 'object', properties: { n: { type: 'integer' } } } }] }),
      'resources/list': () => ({ resources: [] }),
      'resources/templates/list': () => ({ resourceTemplates: [{ name: 'shape', uriTemplate: 'shape://{n}' }] }),
      'prompts/list': () => ({ prompts: [{ name: 'odd', arguments: [{ name: 'n' }] }] }),
      'tools/call': () => {
        if (params.name === 'odd') return KINDS.tools[params.arguments.n];
        for (const [method, what] of told) send({ method, params: { progressToken: params._meta?.progressToken, ...what } });
        return { content: [] };
      },
      'resources/read': () => KINDS.resources[Number(params.uri.split('//')[1])],
      'prompts/get': () => KINDS.prompts[Number(params.arguments.n)],
    };
    if (id !== undefined) send(results[method] ? { id, result: results[method]() } : { id, error: { code: -32601, message: 'none' } });
  });
}

const clients = {
  'SDK v1': (process) => [new ClientV1({ name: 't', version: '1' }), new StdioV1(process)],
  'SDK v2, 2025-11-25': (process) => [new ClientV2({ name: 't', version: '1' }), new StdioV2(process)],
  'SDK v2, 2026-07-28': (process) => [new ClientV2({ name: 't', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } }), new StdioV2(process)],
};

async function judge(toolserver) {
  const dir = await mkdtemp(join(tmpdir(), 'oddresults'));
  const config = join(dir, 'toolserver.yaml');
  const command = JSON.stringify([process.execPath, fileURLToPath(import.meta.url), 'serve']);
  await writeFile(config, `working_directory: ${dir}\nstate_directory: ${dir}/state\ndiscovery: all\nmcp_servers:\n  odd: {command: ${command}}\n`);
  let failed = 0;
  const fail = (...what) => { if (failed++ < 20) console.error(...what); };
  for (const [name, open] of Object.entries(clients)) {
    const [client, transport] = open({ command: toolserver, args: ['serve', '--stdio', '--config', config], stderr: 'ignore' });
    const errors = [];
    client.onerror = (error) => { if (!String(error).includes('unknown token')) errors.push(String(error)); }; // of progress that came just before the result
    await client.connect(transport);
    for (let tries = 0; !(await client.listTools()).tools.some((tool) => tool.name === 'odd__odd'); tries++) {
      if (tries > 3000) throw new Error('the server is not listed');
    }
    const ask = {
      tools: (n) => client.callTool({ name: 'odd__odd', arguments: { n } }),
      resources: (n) => client.readResource({ uri: `mcp://odd/shape://${n}` }),
      prompts: (n) => client.getPrompt({ name: 'odd__odd', arguments: { n: String(n) } }),
    };
    const counts = [];
    for (const [kind, shapes] of Object.entries(KINDS)) {
      let invalid = 0;
      for (const [n, shape] of shapes.entries()) {
        const valid = SCHEMAS[kind].safeParse(shape).success && !JSON.stringify(shape).includes('related-task');
        invalid += !valid;
        let got;
        try { got = await ask[kind](n); } catch (error) {
          fail(`${name} rejects ${kind} ${JSON.stringify(shape)}: ${String(error).slice(0, 300)}`);
          continue;
        }
        // The SDK of version 1 leaves out what it does not know. Clients in Go read natural numbers only as a size.
        const same = kind !== 'tools' || !valid || shape.content?.length !== 3 || /"size":(-|1\.5|1e)/.test(JSON.stringify(shape)) ||
          [shape.content, CallToolResultSchema.parse(shape).content].some((sent) => isDeepStrictEqual(sent, got.content));
        if (!same) fail(`${name} gets ${JSON.stringify(got.content)} for ${JSON.stringify(shape.content)}`);
      }
      counts.push(`${shapes.length} ${kind} (${invalid} not valid)`);
    }
    await client.callTool({ name: 'odd__tell', arguments: {} }, ...(name === 'SDK v1' ? [undefined] : []), { onprogress: () => {} });
    if (errors.length > 0) fail(`${name}: ${errors.length} errors: ${errors.slice(0, 3)}`);
    console.log(`${name}: ${counts.join(', ')}`);
    await client.close();
  }
  await rm(dir, { recursive: true, force: true });
  if (failed > 0) throw new Error(`${failed} results are rejected or changed`);
}

if (process.argv[2] === 'serve') serve();
else await judge(process.argv[2]);
