// Checks that Claude Code obeys what toolserver says in the _meta of tools, and asks for lists no more often than it has to:
//
//   node claudehints.mjs TOOLSERVER
//
// The model is a script on loopback, which makes one call after the other.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { ask, PREFIX, WAIT } from './claudecode.mjs';
import { start } from './spawn.mjs';
import { leaveNothing } from './turns/start.mjs';

const toolserver = realpathSync(process.argv[2]);
const directory = mkdtempSync('/var/tmp/claude-hints-');
leaveNothing(directory);
const work = join(directory, 'work');
mkdirSync(work);

// There are more tools of another server than lists usually show.
const config = join(directory, 'config.yaml');
const configure = (mode) => writeFileSync(config, JSON.stringify({
  working_directory: work, state_directory: join(directory, 'state'), discovery: { mode, limit: 1 }, limits: { max_result_chars: 200_000 },
  mcp_servers: { odd: { command: process.execPath, args: [fileURLToPath(new URL('odd.mjs', import.meta.url)), 'serve', '20'] } },
  tools: { write_file: { confirm: true }, delete_file: { enabled: true } },
}));
configure('auto');

// asks has Claude Code ask the model something, which makes the calls. It returns the requests that the model got and what each
// call has brought.
async function asks(entry, calls) {
  const seen = { requests: [], results: [] };
  seen.said = await ask({
    directory, entry, search: true, next({ tools, text, result }) {
      if (tools.length <= 3) return undefined;
      if (!text.includes(PREFIX) && !theirs(tools).length) return WAIT;
      seen.requests.push({ tools, text });
      seen.results = calls.map((_, i) => result(`toolu_call${i}`));
      const next = seen.results.findIndex((b) => !b);
      return next < 0 ? undefined : { id: `toolu_call${next}`, ...calls[next] };
    },
  });
  return seen;
}
const theirs = (list) => list.filter((tool) => tool.name.startsWith(PREFIX));
const atOnce = ({ tools }) => theirs(tools).filter((tool) => !tool.defer_loading).map((tool) => tool.name.slice(PREFIX.length)).sort();
const textOf = (result) => (typeof result?.content === 'string' ? result.content : (result?.content ?? []).map(({ text }) => text ?? '').join(''));

// The lines are 1,500, and 138,000 characters: without a hint Claude Code shows 50,000 at most.
const text = Array.from({ length: 1500 }, (_, i) => `line ${String(i).padStart(5, '0')} ${'x'.repeat(80)}`).join('\n');
writeFileSync(join(work, 'long.txt'), text);
writeFileSync(join(work, 'kept.txt'), 'kept');
const calls = [
  { name: 'ToolSearch', input: { query: 'select:mcp__ts__read_file,mcp__ts__write_file,mcp__ts__create_directory,mcp__ts__delete_file', max_results: 5 } },
  { name: 'mcp__ts__read_file', input: { path: 'long.txt', limit: 1500 } },
  { name: 'mcp__ts__create_directory', input: { path: 'made' } },
  { name: 'mcp__ts__write_file', input: { path: 'asked.txt', content: 'asked' } },
  { name: 'mcp__ts__delete_file', input: { path: 'kept.txt' } },
  { name: 'ToolSearch', input: { query: 'apis', max_results: 3 } }, // which only the hint of web_fetch says
];
// The server has been connected to before, as on every day but the first.
const [{ tools: offered }] = JSON.parse(execFileSync(toolserver, ['upstream', 'list', '--json', '--config', config], { encoding: 'utf8' }));
assert(offered > 1, `${offered} tools are offered`);

const http = start(toolserver, ['serve', '--http', '127.0.0.1:0', '--insecure-no-auth', '--config', config], { stdio: ['ignore', 'ignore', 'pipe'] });
const url = await new Promise((done, failed) => {
  http.on('exit', () => failed(new Error('the server has ended')));
  createInterface({ input: http.stderr }).on('line', (line) => line.match(/http:\S+/) && done(line.match(/http:[^\s,]+/)[0]));
});
const sent = join(directory, 'sent');
try {
  for (const [name, entry] of Object.entries({
    stdio: { command: 'sh', args: ['-c', `tee '${sent}' | exec '${toolserver}' serve --stdio --config '${config}'`] },
    http: { type: 'http', url },
  })) {
    rmSync(join(work, 'made'), { recursive: true, force: true });
    const { requests, results, said } = await asks(entry, calls);
    const [first] = requests;
    const at = `over ${name}; the client said ${said}`;
    assert.deepEqual(atOnce(first), ['read_large_result'], `tools that are there at once ${at}`);
    assert(new Set(first.text.match(/mcp__ts__odd__\w+/g)).size >= offered, `the deferred tools of the other server ${at}`);
    const [found, long, made, written, deleted, hinted] = results;
    assert.equal(found.content.length, 4, `the tools are not found ${at}`);
    assert(textOf(long).includes(text), `the long result is ${textOf(long).length} characters ${at}`);
    assert(!made.is_error && existsSync(join(work, 'made')), `an allowed call failed ${at}`);
    for (const [call, result] of Object.entries({ written, deleted })) {
      assert(result.is_error && /permission/.test(textOf(result)), `nobody was asked before it was ${call}: ${JSON.stringify(result)} ${at}`);
    }
    assert.equal(readFileSync(join(work, 'kept.txt'), 'utf8'), 'kept');
    assert.equal(hinted.content[0]?.tool_name, 'mcp__ts__web_fetch', `found by its hint: ${JSON.stringify(hinted.content)} ${at}`);
    const lists = name === 'stdio' ? readFileSync(sent, 'utf8').split('\n').filter((line) => line.includes('"method":"tools/list"')).length : undefined;
    if (lists !== undefined) assert(lists <= 2, `tools/list was sent ${lists} times for ${calls.length} calls`); // again after a change of the list
    console.log(`Claude Code over ${name}: ${new Set(first.text.match(/mcp__ts__\w+/g)).size} tools deferred, a result of ${text.length} characters, two calls asked about`
      + (lists === undefined ? '' : `, ${lists} tools/list`));
  }
  configure('search');
  const { requests: [first] } = await asks({ command: toolserver, args: ['serve', '--stdio', '--config', config] }, []);
  assert.deepEqual(atOnce(first), ['mcp_exec', 'mcp_info', 'mcp_list_tools', 'mcp_search', 'read_large_result'], 'what searches is there at once');
  assert(!/mcp__ts__(odd__|read_file)/.test(first.text), 'what is to be searched for is deferred instead');
} finally {
  http.kill();
}
