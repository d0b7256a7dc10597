// Has Claude Code ask a model once, which is a script on loopback.

import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { adopt } from './spawn.mjs';

const require = createRequire(import.meta.url);
const claude = join(dirname(require.resolve(`@anthropic-ai/claude-code-${process.platform}-${process.arch}/package.json`)), 'claude');

/** The answer of a model that waits. */
export const WAIT = Symbol('wait');

/** What the name of each tool of the server begins with. */
export const PREFIX = 'mcp__ts__';

/**
 * Has Claude Code run in directory/work with one server, whose entry is given, and returns what it has printed. Next returns
 * the call that the model answers a request with, if any, and WAIT while the client has not connected yet.
 */
export async function ask({ directory, entry, search, next }) {
  let waited = 0;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { tools = [], messages = [], stream, system } = body ? JSON.parse(body) : {};
    if (!request.url.startsWith('/v1/messages') || request.url.includes('count_tokens')) {
      response.setHeader('content-type', 'application/json');
      response.end('{"input_tokens":1,"data":[],"has_more":false}');
      return;
    }
    const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    let use = next({ tools, text: JSON.stringify(messages) + JSON.stringify(system), result: (id) => blocks.find((b) => b.type === 'tool_result' && b.tool_use_id === id) });
    if (use === WAIT) use = waited++ < 20 ? { id: `toolu_wait${waited}`, name: 'Bash', input: { command: 'sleep 1', description: 'wait' } } : undefined;
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
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const home = join(directory, 'home');
  mkdirSync(home, { recursive: true });
  writeFileSync(join(directory, 'mcp.json'), JSON.stringify({ mcpServers: { ts: entry } }));
  let client;
  try {
    const run = promisify(execFile)(claude, [
      '-p', 'go', '--mcp-config', join(directory, 'mcp.json'), '--strict-mcp-config', '--allowedTools', 'mcp__ts', 'Bash', 'ToolSearch',
    ], {
      cwd: join(directory, 'work'), timeout: 120_000,
      env: {
        PATH: process.env.PATH, HOME: home, CLAUDE_CONFIG_DIR: home, ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`, ANTHROPIC_API_KEY: 'sk-ant-none',
        ENABLE_TOOL_SEARCH: String(search), CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1',
      },
    });
    client = adopt(run.child.pid);
    run.child.stdin.end();
    return (await run).stdout;
  } finally {
    client?.release();
    server.closeAllConnections();
    server.close();
  }
}
