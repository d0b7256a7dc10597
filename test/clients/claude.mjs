// Checks what reaches a model through Claude Code when one server offers many odd tools:
//
//   node claude.mjs TOOLSERVER
//
// The model is a script on loopback: it notes the tools of a request, has one of them
// called, and ends. Claude Code leaves out a server whose list it does not accept.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { ask, PREFIX, WAIT } from './claudecode.mjs';
import { numbered } from './odd.mjs';
import { start } from './spawn.mjs';
import { leaveNothing } from './turns/start.mjs';

const ODD = 100;
const toolserver = realpathSync(process.argv[2]);
const directory = mkdtempSync('/var/tmp/claude-');
leaveNothing(directory);
const config = join(directory, 'config.yaml');
mkdirSync(join(directory, 'work'));
const token = 'a'.repeat(43);
writeFileSync(config, JSON.stringify({
  working_directory: join(directory, 'work'), state_directory: join(directory, 'state'), discovery: 'all',
  server: { tokens: [{ name: 'ann', hash: `sha256:${createHash('sha256').update(token).digest('hex')}` }] },
  mcp_servers: { odd: { command: process.execPath, args: [fileURLToPath(new URL('odd.mjs', import.meta.url)), 'serve', String(ODD)] } },
}));

// asks has Claude Code ask the model something, with one server. It returns the tools that the model was shown, and what a call
// of one of them has brought.
async function asks(entry, call) {
  const seen = { tools: undefined, result: undefined };
  seen.said = await ask({
    directory, entry, search: false, next({ tools, result }) {
      const theirs = tools.filter(({ name }) => name.startsWith(PREFIX));
      if (!theirs.length) return tools.length > 5 ? WAIT : undefined;
      seen.tools ??= theirs;
      const block = result('toolu_call');
      if (!block) return { id: 'toolu_call', ...call };
      seen.result = JSON.stringify(block.content);
    },
  });
  return seen;
}

// The server has been connected to before, as on every day but the first.
const [{ tools: offered, left_out: left = [] }] = JSON.parse(execFileSync(toolserver, ['upstream', 'list', '--json', '--config', config], { encoding: 'utf8' }));
assert(offered >= ODD * 0.85, `${offered} tools are offered`);
const own = JSON.parse(execFileSync(toolserver, ['tools', '--json', '--config', config], { encoding: 'utf8' })).tools.map(({ name }) => name);
const at = numbered('tools', ODD).findIndex(({ item }) => item?.inputSchema?.properties?.$filter);
const call = { name: `mcp__ts__odd__n${at}`, input: { _filter: 'x' } };

const http = start(toolserver, ['serve', '--http', '127.0.0.1:0', '--config', config], { stdio: ['ignore', 'ignore', 'pipe'] });
const url = await new Promise((done, failed) => {
  http.on('exit', () => failed(new Error('the server has ended')));
  createInterface({ input: http.stderr }).on('line', (line) => line.match(/http:\S+/) && done(line.match(/http:[^\s,]+/)[0]));
});
try {
  for (const [name, entry] of Object.entries({
    stdio: { command: toolserver, args: ['serve', '--stdio', '--config', config] },
    http: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } },
  })) {
    const { tools, result, said } = await asks(entry, call);
    const names = (tools ?? []).map((t) => t.name.slice(PREFIX.length));
    assert.deepEqual(own.filter((tool) => !names.includes(tool)), [], `over ${name} the model is not shown all tools; the client said ${said}`);
    assert.match(result ?? '', /\{\\+"\$filter\\+":\\+"x\\+"\}/, `over ${name} the call has brought ${result}`);
    console.log(`Claude Code over ${name}: ${names.length} tools, ${offered} of them of the server with ${ODD} odd ones; ${left.length} left out`);
  }
} finally {
  http.kill();
}
