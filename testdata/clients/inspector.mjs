// The command line of @modelcontextprotocol/inspector: one process, and one
// session, per request. It prints a result as JSON, and of an error only the
// message.

import { createRequire } from 'node:module';

import { OWN_COMPLAINT } from './session.mjs';
import { output } from './spawn.mjs';

const bin = createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/cli/build/cli.js');

export async function connectInspector(target) {
  const where = target.transport === 'stdio'
    ? [target.process.command, ...target.process.args]
    : [target.url, '--transport', 'http'];
  const run = (...args) => inspect(where, args, target.process);
  return {
    sees: {}, // it turns arguments into the declared types itself, and starts anew for each call
    problems: [],
    wire: [],
    list: async () => (await run('--method', 'tools/list')).result.tools,
    call: (tool, args) => run('--method', 'tools/call', '--tool-name', tool, ...pairs(args)),
    info: () => undefined,
    log: () => target.log?.() ?? '',
    close: async () => {},
  };
}

// What stands before "--" the inspector would read itself, such as --config.
async function inspect(where, args, { cwd, env } = {}) {
  const done = await output(process.execPath, [bin, '--cli', '--', ...where, ...args], {
    cwd,
    env: { ...process.env, ...env },
  });
  if (done.code === 0) return { result: JSON.parse(done.stdout) };
  const failure = /MCP error (-?\d+): ([^]*)/.exec(done.stderr);
  if (!failure || OWN_COMPLAINT.test(done.stderr)) throw new Error(`inspector ended with ${done.code}: ${done.stderr}${done.stdout}`);
  return { error: { code: Number(failure[1]), message: failure[2].trim() } };
}

function pairs(args) {
  return Object.entries(args).flatMap(([name, value]) =>
    ['--tool-arg', `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`]);
}
