// Checks what reaches a model through Claude Code when one server offers many odd tools:
//
//   node claude.mjs TOOLSERVER
//
// The model is a script on loopback: it notes the tools of a request, has one of them
// called, and ends. Claude Code leaves out a server whose list it does not accept.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { numbered } from './odd.mjs';
import { adopt, start } from './spawn.mjs';
import { leaveNothing } from './turns/start.mjs';

const ODD = 100;
const require = createRequire(import.meta.url);
const claude = join(dirname(require.resolve(`@anthropic-ai/claude-code-${process.platform}-${process.arch}/package.json`)), 'claude');
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

// model is the script. It returns the tools that the model was shown, and what a call of
// one of them has brought.
function model(call) {
  const seen = { tools: undefined, result: undefined };
  let waited = 0;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { tools = [], messages = [], stream } = body ? JSON.parse(body) : {};
    if (!request.url.startsWith('/v1/messages') || request.url.includes('count_tokens')) {
      response.setHeader('content-type', 'application/json');
      response.end('{"input_tokens":1,"data":[],"has_more":false}');
      return;
    }
    const theirs = tools.filter(({ name }) => name.startsWith('mcp__ts__'));
    const block = messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])).find((b) => b.type === 'tool_result' && b.tool_use_id === 'toolu_call');
    let use;
    if (theirs.length) {
      seen.tools ??= theirs;
      if (block) seen.result = JSON.stringify(block.content);
      else use = { id: 'toolu_call', ...call };
    } else if (tools.length > 5 && waited++ < 20) { // it has not connected yet
      use = { id: `toolu_wait${waited}`, name: 'Bash', input: { command: 'sleep 1', description: 'wait' } };
    }
    const content = use ? { type: 'tool_use', name: use.name, id: use.id, input: use.input } : { type: 'text', text: 'done' };
    const message = {
      id: 'msg', type: 'message', role: 'assistant', model: 'script', content: [content], stop_reason: use ? 'tool_use' : 'end_turn', stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    };
    if (!stream) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(message));
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    const delta = use ? { type: 'input_json_delta', partial_json: JSON.stringify(use.input) } : { type: 'text_delta', text: 'done' };
    for (const event of [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: use ? { ...content, input: {} } : { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta }, { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } }, { type: 'message_stop' },
    ]) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  });
  return { seen, server };
}

// ask has Claude Code ask the model something, with one server.
async function ask(entry, call) {
  const { seen, server } = model(call);
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const home = join(directory, 'home');
  mkdirSync(home, { recursive: true });
  writeFileSync(join(directory, 'mcp.json'), JSON.stringify({ mcpServers: { ts: entry } }));
  let client;
  try {
    const run = promisify(execFile)(claude, [
      '-p', 'go', '--mcp-config', join(directory, 'mcp.json'), '--strict-mcp-config', '--allowedTools', 'mcp__ts', 'Bash',
    ], {
      cwd: join(directory, 'work'), timeout: 120_000,
      env: {
        PATH: process.env.PATH, HOME: home, CLAUDE_CONFIG_DIR: home, ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`, ANTHROPIC_API_KEY: 'sk-ant-none',
        ENABLE_TOOL_SEARCH: 'false', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1',
      },
    });
    client = adopt(run.child.pid);
    run.child.stdin.end();
    seen.said = (await run).stdout;
  } finally {
    client?.release();
    server.closeAllConnections();
    server.close();
  }
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
    const { tools, result, said } = await ask(entry, call);
    const names = (tools ?? []).map((t) => t.name.slice('mcp__ts__'.length));
    assert.deepEqual(own.filter((tool) => !names.includes(tool)), [], `over ${name} the model is not shown all tools; the client said ${said}`);
    assert.match(result ?? '', /\{\\+"\$filter\\+":\\+"x\\+"\}/, `over ${name} the call has brought ${result}`);
    console.log(`Claude Code over ${name}: ${names.length} tools, ${offered} of them of the server with ${ODD} odd ones; ${left.length} left out`);
  }
} finally {
  http.kill();
}
