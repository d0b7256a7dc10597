// Checks that no odd item of a server costs anybody another one:
//
//   node odditems.mjs TOOLSERVER [--gosdk CLIENT]
//
// toolserver offers what odd.mjs does. Each client, over stdio, has to get all lists;
// where one rejects a list, the items that it would reject alone are named.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { KINDS, judges, lists, numbered } from './odd.mjs';
import { connectV1 } from './v1.mjs';
import { connectV2 } from './v2.mjs';

const require = createRequire(import.meta.url);
const withAjv = createRequire(require.resolve('@modelcontextprotocol/sdk/client/index.js'));
const Ajv = withAjv('ajv/dist/2020.js').default;

const { positionals, values } = parseArgs({ allowPositionals: true, strict: false, options: { gosdk: { type: 'string' }, google: { type: 'string' }, mcpgo: { type: 'string' }, only: { type: 'string' } } });
const toolserver = realpathSync(positionals[0]);
const gosdk = values.gosdk && realpathSync(values.gosdk);
const directory = mkdtempSync('/var/tmp/odditems-');
const config = join(directory, 'config.yaml');
writeFileSync(config, JSON.stringify({
  working_directory: directory, state_directory: join(directory, 'state'), discovery: 'all',
  mcp_servers: { odd: { command: process.execPath, args: [fileURLToPath(new URL('odd.mjs', import.meta.url)), 'serve'], timeout: '2m' } },
}));
const command = [toolserver, 'serve', '--stdio', '--config', config];
const target = { transport: 'stdio', process: { command: command[0], args: command.slice(1) } };

console.warn = () => {}; // of formats that the clients do not know

const problems = [];
const fail = (...what) => problems.push(what.join(' '));

// schemaProblems returns why APIs of models would refuse a request with a schema.
function schemaProblems({ $schema, ...schema }) {
  const found = [];
  const ajv = new Ajv({ strict: false });
  if (!ajv.validateSchema(schema)) found.push(ajv.errorsText());
  for (const keyword of ['oneOf', 'anyOf', 'allOf', 'not', 'enum', 'const', '$ref']) if (keyword in schema) found.push(`${keyword} at its root`);
  for (const name of Object.keys(schema.properties)) if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) found.push(`an argument ${JSON.stringify(name)}`);
  const visit = (s) => {
    if (Array.isArray(s)) s.forEach(visit);
    if (!s || typeof s !== 'object' || Array.isArray(s)) return;
    if ([s.type].flat().includes('array') && s.items === undefined) found.push('an array without items');
    for (const [keyword, inner] of Object.entries(s)) {
      if (['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas'].includes(keyword)) Object.values(inner).forEach(visit);
      else if (!['default', 'enum', 'const', 'examples', 'required', 'type'].includes(keyword)) visit(inner);
    }
  };
  visit(schema);
  return found;
}

const listing = { tools: 'list', resources: 'resources', resourceTemplates: 'templates', prompts: 'prompts' };
const clients = {
  v1: () => connectV1(target), 'v2 2025-11-25': () => connectV2('legacy', target), 'v2 2026-07-28': () => connectV2('pinned', target),
};
const given = Object.fromEntries(KINDS.map((kind) => [kind, numbered(kind)]));
let offered;
for (const [name, connect] of Object.entries(clients)) {
  const client = await connect();
  try {
    const got = {};
    for (const kind of KINDS) {
      try {
        do got[kind] = await client[listing[kind]]();
        while (kind === 'tools' && !got.tools.some((t) => t.name.startsWith('odd__'))); // it is not ready
      } catch (error) {
        fail(name, kind, error.message.slice(0, 300));
      }
    }
    offered ??= got;
    for (const kind of KINDS) if (got[kind]?.length !== offered[kind]?.length) fail(name, 'has', got[kind]?.length, kind, 'of', offered[kind]?.length);
    // An odd argument is called by another name, and reaches the server by its own.
    const at = given.tools.findIndex(({ label }) => label === 'input: names');
    const { result } = await client.call(`odd__n${at}`, { _filter: 'x' });
    if (!result?.content[0].text.includes('{"$filter":"x"}')) fail(name, 'calls a tool with', JSON.stringify(result));
  } finally {
    await client.close();
  }
}
if (gosdk) {
  const counts = JSON.parse(execFileSync(gosdk, command, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
  for (const kind of KINDS) if (counts[kind] !== offered[kind].length) fail('the SDK for Go has', counts[kind], kind, 'of', offered[kind].length);
}
for (const [name, judge] of Object.entries(judges)) {
  if (!problems.some((p) => p.startsWith(name))) continue;
  for (const kind of KINDS) {
    for (const item of offered[kind]) {
      const why = await judge(kind, [item]);
      if (why) fail(name, kind, item.name, given[kind].find((g) => `odd__${g.item?.name}` === item.name)?.label, why.slice(0, 200));
    }
  }
}
for (const { name, inputSchema } of offered.tools) {
  for (const problem of schemaProblems(inputSchema)) fail('APIs of models', name, given.tools.find((g) => `odd__${g.item?.name}` === name)?.label, problem);
}
// What is good is offered as it is, and little is left out.
for (const kind of KINDS) {
  const good = offered[kind].filter((item) => lists[kind].own(item)).length;
  if (good < given[kind].length * lists[kind].least) fail(`${good} of ${given[kind].length} ${kind} are offered`);
}
rmSync(directory, { recursive: true, force: true });
console.log(`odd items: ${KINDS.map((kind) => `${offered[kind].length} ${kind}`).join(', ')}; ${problems.length} problems`);
for (const problem of problems.slice(0, 40)) console.log(`  ${problem}`);
process.exit(problems.length ? 1 : 0);
