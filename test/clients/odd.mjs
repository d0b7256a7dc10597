// Items of lists with every member of every wrong kind, and the real clients as
// judges of them: what one of them rejects would take its whole list away.
//
//   KINDS, lists              of items; how each is listed, and what has to be offered of it
//   odd(kind)                 [{label, item}]
//   numbered(kind, most)      the same, each with a name and address of its own
//   judges                    {name: (kind, items) => undefined or why a list of these is rejected}
//   node odd.mjs serve [N]    an MCP server over stdio that offers all of them, or some N

import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const lists = {
  tools: { method: 'tools/list', of: 'listTools', least: 0.98, own: (item) => item.name.startsWith('odd__') },
  resources: { method: 'resources/list', of: 'listResources', least: 0.92, own: (item) => item.uri.startsWith('mcp://odd/') },
  resourceTemplates: { method: 'resources/templates/list', of: 'listResourceTemplates', least: 0.92, own: (item) => item.uriTemplate.startsWith('mcp://odd/') },
  prompts: { method: 'prompts/list', of: 'listPrompts', least: 0.92, own: (item) => item.name.startsWith('odd__') },
};
export const KINDS = Object.keys(lists);

const icon = { src: 'https://example.com/i.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' };
const annotations = { audience: ['user'], priority: 0.5, lastModified: '2026-01-02T03:04:05Z' };

// Schemas whose every keyword is given a wrong value. They are valid as they are.
const whole = {
  $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'https://example.com/s', $comment: 'c', $anchor: 'a', $defs: { d: { type: 'string' } },
  type: 'object', title: 't', description: 'd', default: {}, examples: [{}], deprecated: false, readOnly: false, writeOnly: false,
  properties: {
    text: { type: 'string', minLength: 0, maxLength: 9, pattern: '^a*$', format: 'email', contentEncoding: 'base64', contentMediaType: 'text/plain' },
    number: { type: 'number', minimum: 0, maximum: 9, exclusiveMinimum: -1, exclusiveMaximum: 10, multipleOf: 1 },
    list: { type: 'array', items: { type: 'string' }, minItems: 0, maxItems: 9, uniqueItems: true, contains: {}, minContains: 0, maxContains: 9, prefixItems: [{}], unevaluatedItems: true },
    inner: {
      type: 'object', properties: { a: { enum: ['x', 1] } }, required: ['a'], dependentRequired: { a: ['b'] }, dependentSchemas: { a: {} },
      propertyNames: { maxLength: 9 }, minProperties: 0, maxProperties: 9, unevaluatedProperties: true,
    },
    any: { anyOf: [{ type: 'string' }, { type: 'null' }], oneOf: [{}], allOf: [{}], not: { const: 7 }, if: {}, then: {}, else: {}, $ref: '#/$defs/d' },
  },
  required: ['text'], additionalProperties: false, patternProperties: { '^x-': {} },
};

const good = {
  tools: {
    name: 'n', title: 't', description: 'd', inputSchema: whole, outputSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    annotations: { title: 't', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    icons: [icon], execution: { taskSupport: 'forbidden' }, _meta: { a: 1 },
  },
  resources: { name: 'n', title: 't', description: 'd', uri: 'x://n', mimeType: 'text/plain', size: 7, annotations, icons: [icon], _meta: { a: 1 } },
  resourceTemplates: { name: 'n', title: 't', description: 'd', uriTemplate: 'x://n/{a}', mimeType: 'text/plain', annotations, icons: [icon], _meta: { a: 1 } },
  prompts: { name: 'n', title: 't', description: 'd', arguments: [{ name: 'a', title: 't', description: 'd', required: true }], icons: [icon], _meta: { a: 1 } },
};

const wrong = [
  null, true, false, 0, -1, 1.5, 1e300, '', 'text', '0', '(?<=a)b', '(', '(?i)a', [], [null], [1], ['a', 'a'], [{}], [true], [[]], {}, { a: null }, { a: true },
  { a: 1 }, { a: [] }, { a: ['b'] }, { $ref: '#/$defs/none' }, { $ref: 'https://example.com/none' },
];

// Schemas that are odd as a whole.
const schemas = {
  none: undefined, text: 'x', true: true, false: false, null: null, list: [], empty: {}, string: { type: 'string' }, array: { type: 'array', items: {} }, nullable: { type: ['object', 'null'] },
  'any of': { type: 'object', properties: { a: { type: 'string' }, b: {} }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
  'one of': { oneOf: [{ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }, { type: 'object', properties: { b: {} } }] },
  'all of': { type: 'object', allOf: [{ properties: { a: { type: 'string' } }, required: ['a'] }, { properties: { b: {} } }] },
  reference: { $ref: '#/$defs/A', $defs: { A: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } } },
  'reference and type': { type: 'object', $ref: '#/definitions/A', definitions: { A: { properties: { a: { type: 'string' } } } } },
  'reference to itself': { type: 'object', $ref: '#' },
  'references in a circle': { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
  'tree': { type: 'object', properties: { a: { $ref: '#' } } },
  not: { type: 'object', not: { required: ['a'] } }, enum: { type: 'object', enum: [{}] }, const: { type: 'object', const: {} },
  names: { type: 'object', properties: { $filter: { type: 'string' }, 'my prop[]': {}, [`${'x'.repeat(80)}`]: {}, 'é': {}, '': {} }, required: ['$filter'] },
  'required inside': { type: 'object', properties: { coin: { type: 'string' }, required: ['coin'] } },
  'no items': { type: 'object', properties: { a: { type: 'array' }, b: { type: ['array', 'null'] } } },
  tuple: { type: 'object', properties: { a: { type: 'array', items: [{ type: 'string' }, {}], additionalItems: false } } },
  'draft 4': { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object', properties: { a: { type: 'integer', minimum: 0, exclusiveMinimum: true } } },
  'own dialect': { $schema: 'https://example.com/dialect', type: 'object', properties: {} },
  'unknown type': { type: 'object', properties: { a: { type: 'int' }, b: { type: ['string', 'nil'] }, c: { type: 'any' } } },
  'unknown format': { type: 'object', properties: { a: { type: 'string', format: 'uint32' } } },
  'unknown keyword': { type: 'object', properties: { a: { type: 'string', nullable: true, 'x-order': 1, discriminator: { propertyName: 'a' } } } },
  'dynamic': { type: 'object', properties: { a: { $dynamicRef: '#n' } }, $defs: { n: { $dynamicAnchor: 'n' } } },
  'same id': { $id: 'https://example.com/same', type: 'object', properties: { a: { type: 'string' } } },
  'same id again': { $id: 'https://example.com/same', type: 'object', properties: { b: { type: 'string' } } },
  'inner id': { type: 'object', properties: { a: { $id: 'https://example.com/inner', type: 'string' } } },
  'inner id again': { type: 'object', properties: { a: { $id: 'https://example.com/inner', type: 'number' } } },
  'same anchor': { type: 'object', properties: { a: { $anchor: 'x' } }, $defs: { b: { $anchor: 'x' } } },
  deep: { type: 'object', properties: { a: Array.from({ length: 90 }).reduce((inner) => ({ type: 'object', properties: { a: inner } }), {}) } },
};

// variants returns a value with each of its members, and each member of these, wrong.
function* variants(value, path = '') {
  for (const key of Object.keys(value)) {
    const at = path + (path && '.') + key;
    const put = (v) => (Array.isArray(value) ? value.map((e, i) => (String(i) === key ? v : e)) : { ...value, [key]: v });
    for (const w of wrong) yield [`${at} = ${JSON.stringify(w)}`, put(w)];
    if (!Array.isArray(value)) {
      const { [key]: _, ...rest } = value;
      yield [`${at} is missing`, rest];
    }
    if (value[key] && typeof value[key] === 'object') for (const [label, v] of variants(value[key], at)) yield [label, put(v)];
  }
}

// odd returns items of a list, most of them wrong, with what is odd about each.
export function odd(kind) {
  const all = [...variants(good[kind])].map(([label, item]) => ({ label, item }));
  if (kind === 'tools') {
    for (const [label, schema] of Object.entries(schemas)) {
      all.push({ label: `input: ${label}`, item: { name: 'n', inputSchema: schema } });
      all.push({ label: `output: ${label}`, item: { name: 'n', inputSchema: { type: 'object' }, outputSchema: schema } });
    }
    for (const [label, outputSchema] of variants(whole)) all.push({ label: `output: ${label}`, item: { name: 'n', inputSchema: { type: 'object' }, outputSchema } });
  }
  all.push(...[null, 7, 'text', [], {}].map((item) => ({ label: JSON.stringify(item), item })));
  return all;
}

// numbered gives each item of a list a name and address of its own, where it has one. If
// there may only be so many, these are all that are odd as a whole, and some of the others.
export function numbered(kind, most = Infinity) {
  let all = odd(kind);
  if (all.length > most) {
    const whole = all.filter(({ label }) => label.startsWith('input: '));
    const others = all.filter(({ label }) => !label.startsWith('input: '));
    all = [...whole, ...others.filter((_, i) => i % Math.ceil(others.length / (most - whole.length)) === 0)];
  }
  return all.map(({ label, item }, i) => {
    if (!item || typeof item !== 'object' || Array.isArray(item)) return { label, item };
    item = { ...item };
    if (typeof item.name === 'string' && item.name) item.name = `n${i}`;
    if (item.uri === 'x://n') item.uri = `x://n${i}`;
    if (item.uriTemplate === 'x://n/{a}') item.uriTemplate = `x://n${i}/{a}`;
    return { label, item };
  });
}

// transport is that of a client whose server has one list.
function transport(kind, items) {
  const t = {
    async start() {}, async close() { t.onclose?.(); },
    async send({ id, method, params }) {
      if (id === undefined) return;
      const serverInfo = { name: 's', version: '1' };
      const capabilities = { tools: {}, resources: {}, prompts: {} };
      const result = {
        initialize: { protocolVersion: params?.protocolVersion, capabilities, serverInfo },
        'server/discover': { supportedVersions: ['2026-07-28'], capabilities, serverInfo, resultType: 'complete', ttlMs: 0, cacheScope: 'private', _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } },
        [lists[kind].method]: { [kind]: items, resultType: 'complete', ttlMs: 0, cacheScope: 'private', _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } },
      }[method];
      queueMicrotask(() => t.onmessage?.({ jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'no' } }) }));
    },
  };
  return t;
}

function judge(connect) {
  return async (kind, items) => {
    const client = await connect(transport(kind, items));
    try {
      const result = await client[lists[kind].of]();
      return result[kind].length === items.length ? undefined : `${items.length - result[kind].length} are left out`;
    } catch (error) {
      return error.message;
    } finally {
      await client.close();
    }
  };
}

const info = { name: 'judge', version: '1' };
const v2 = (options) => judge(async (t) => {
  const client = new ClientV2(info, options);
  await client.connect(t, { timeout: 2000 });
  return client;
});

export const judges = {
  v1: judge(async (t) => {
    const client = new ClientV1(info);
    await client.connect(t);
    return client;
  }),
  'v2 2025-11-25': v2({}),
  'v2 2026-07-28': v2({ versionNegotiation: { mode: { pin: '2026-07-28' } } }),
};

// serve offers all, over stdio, in pages.
function serve(most) {
  const all = Object.fromEntries(KINDS.map((kind) => [lists[kind].method, { kind, items: numbered(kind, most).map(({ item }) => item) }]));
  const page = 1000;
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    let result = {};
    if (method === 'initialize') result = { protocolVersion: '2025-11-25', capabilities: { tools: {}, resources: {}, prompts: {} }, serverInfo: { name: 'odd', version: '1' } };
    else if (all[method]) {
      const from = Number(params?.cursor ?? 0);
      const { kind, items } = all[method];
      result = { [kind]: items.slice(from, from + page), ...(from + page < items.length && { nextCursor: String(from + page) }) };
    } else if (method === 'tools/call') result = { content: [{ type: 'text', text: JSON.stringify(params) }] };
    else if (method === 'server/discover') {
      process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } })}\n`);
      return;
    }
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2] === 'serve') serve(Number(process.argv[3] ?? Infinity));
