// The command line of @modelcontextprotocol/inspector: one process, and one
// session, per request. It prints a result as JSON, and of an error only the
// message.

import { createRequire } from 'node:module';

import { OWN_COMPLAINT } from './requests.mjs';
import { output } from './spawn.mjs';

const bin = createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/cli/build/cli.js');

export async function connectInspector(target) {
  const where = target.transport === 'stdio'
    ? [target.process.command, ...target.process.args]
    : [target.url, '--transport', 'http'];
  const run = (...args) => inspect(where, args, target.process);
  const list = async (method, member) => (await run('--method', method)).result[member];
  return {
    sees: {}, // it turns arguments into the declared types itself, and starts anew for each call
    modern: false,
    problems: [],
    wire: [],
    errors: [],
    list: () => list('tools/list', 'tools'),
    call: (tool, args) => run('--method', 'tools/call', '--tool-name', tool, ...pairs('--tool-arg', args)),
    resources: () => list('resources/list', 'resources'),
    templates: () => list('resources/templates/list', 'resourceTemplates'),
    prompts: () => list('prompts/list', 'prompts'),
    read: (uri) => run('--method', 'resources/read', '--uri', uri),
    prompt: (name, args) => run('--method', 'prompts/get', '--prompt-name', name, ...pairs('--prompt-args', args)),
    setLevel: (level) => run('--method', 'logging/setLevel', '--log-level', level),
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

function pairs(option, args) {
  return Object.entries(args).flatMap(([name, value]) =>
    [option, `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`]);
}
