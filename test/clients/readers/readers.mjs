// Has clients read what a built toolserver installs for them:
//
//   node readers.mjs TOOLSERVER [CLIENT...]
//
// The entry, as the client's own program or parser understands it, must be what was meant: the command, its arguments and
// variables, the address and its token; in the file of the user, in one that began with a byte order mark, and in that of a
// project. Clients that cannot say what they read start a program that notes how it was started. Nothing has a network.
// Ends with "N passed, N failed" and status 1 if something failed.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const COMMAND_DEADLINE_MS = 120_000;
const RUN_DEADLINE_MS = 10 * 60_000;

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const here = (name) => join(import.meta.dirname, 'node_modules', name);

if (!process.env.READERS_ALONE) { // again where there is only a loopback interface, if that can be made
  const inner = 'ip link set lo up && exec "$@"';
  const alone = await run('unshare', ['-n', 'sh', '-c', inner, 'sh', 'true']).then(() => ['unshare', '-n', 'sh', '-c', inner, 'sh'], () => []);
  const [file, ...args] = [...alone, process.execPath, ...process.argv.slice(1)];
  const child = spawn(file, args, { stdio: 'inherit', env: { ...process.env, READERS_ALONE: '1' } });
  process.exit(await new Promise((done) => child.on('exit', (code) => done(code ?? 1))));
}

const base = await mkdtemp(join(tmpdir(), 'readers-'));
// Paths that JSON, TOML and YAML must quote.
const program = join(base, `tool's "é" server`, 'toolserver');
const noted = (what) => join(dirname(program), what);
const project = join(base, 'the project');
const given = 'a b "é" #';
const secrets = { KEY: 'the key', TOKEN: 'the token' };

// What clients send to an address.
let authorization;
const site = createServer((request, response) => {
  authorization = request.headers.authorization ?? authorization;
  response.writeHead(500).end();
});
await new Promise((done) => site.listen(0, '127.0.0.1', done));
const url = `http://127.0.0.1:${site.address().port}/mcp`;

/** Runs a program in the project, with a home directory. */
async function shell(home, env, file, ...args) {
  const { stdout } = await run(file, args, {
    cwd: project, timeout: COMMAND_DEADLINE_MS, maxBuffer: 16 << 20,
    env: { HOME: home, PATH: process.env.PATH, USER: 'somebody', TERM: 'dumb', NO_COLOR: '1', ...env },
  });
  return stdout;
}

const json = (text) => JSON.parse(text.slice(text.search(/^[[{]/m)));

/** Has a program list its servers, which starts them, and returns how they were started. */
async function spied(home, env, file, ...args) {
  authorization = undefined;
  await rename(program, noted('real'));
  try {
    await writeFile(program, '#!/bin/sh\ncd "$(dirname "$0")" && printf \'%s\\0\' "$@" >args && env -0 >env && exec ./real "$@"\n');
    await chmod(program, 0o755);
    const said = await shell(home, { ...env, ...secrets }, file, ...args);
    const split = async (what) => (await readFile(noted(what), 'utf8').catch(() => assert.fail(`did not start the server; it said: ${said}`))).split('\0').slice(0, -1);
    const variables = Object.fromEntries((await split('env')).map((line) => line.split(/=(.*)/s)));
    return { local: { command: program, args: await split('args'), env: variables }, remote: { url: said.includes(url) || authorization ? url : undefined, authorization } };
  } finally {
    for (const what of ['args', 'env']) await rm(noted(what), { force: true });
    await rename(noted('real'), program);
  }
}

const header = (headers) => headers?.Authorization;

/** Reads as opencode does, of which Kilo Code is made. */
const opencode = (binary) => async (home) => {
  const { mcp } = json(await shell(home, secrets, binary, 'debug', 'config'));
  const { local, remote } = mcp;
  return {
    local: { command: local.command[0], args: local.command.slice(1), env: local.environment },
    remote: { url: remote.url, authorization: header(remote.headers) },
  };
};

const readers = {
  amp: {
    async read(home) {
      const all = json(await shell(home, secrets, here('@ampcode/cli-linux-x64/amp'), 'mcp', 'list', '--json'));
      const [local, remote] = ['local', 'remote'].map((name) => all.find((s) => s.name === name).spec);
      return { local, remote: { url: remote.url, authorization: header(remote.headers) } };
    },
    key: '$KEY', token: 'Bearer $TOKEN',
  },
  cline: {
    async read(home, file) {
      const { resolveMcpServerRegistrations } = await import('@cline/core');
      const script = `import { resolveDefaultMcpSettingsPath } from '@cline/core'; console.log(resolveDefaultMcpSettingsPath()); process.exit()`;
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: import.meta.dirname, env: { HOME: home, PATH: process.env.PATH }, timeout: COMMAND_DEADLINE_MS });
      assert.equal(stdout.trim(), file, 'the file that Cline reads');
      const all = resolveMcpServerRegistrations({ filePath: file });
      const [local, remote] = ['local', 'remote'].map((name) => all.find((s) => s.name === name));
      assert.ok(!local.disabled && !remote.disabled);
      assert.equal(remote.transport.type, 'streamableHttp');
      return { local: local.transport, remote: { url: remote.transport.url } };
    },
  },
  codex: {
    prepare: async (home) => {
      await mkdir(join(home, '.codex'), { recursive: true });
      await writeFile(join(home, '.codex/config.toml'), `[projects.${JSON.stringify(project)}]\ntrust_level = "trusted"\n`);
    },
    async read(home) {
      const all = json(await shell(home, secrets, process.execPath, here('@openai/codex/bin/codex.js'), 'mcp', 'list', '--json'));
      const [local, remote] = ['local', 'remote'].map((name) => all.find((s) => s.name === name && s.enabled).transport);
      assert.deepEqual(local.env_vars, ['KEY']);
      assert.equal(remote.type, 'streamable_http');
      return { local: { ...local, env: { ...local.env, KEY: secrets.KEY } }, remote: { url: remote.url, authorization: `Bearer ${secrets[remote.bearer_token_env_var]}` } };
    },
  },
  continue: {
    async read(home, file) {
      const { parseConfigYaml, validateConfigYaml } = await import('@continuedev/config-yaml');
      const config = parseConfigYaml(await readFile(file, 'utf8'));
      assert.deepEqual((validateConfigYaml(config) ?? []).filter((e) => e.fatal), []);
      const [local, remote] = ['local', 'remote'].map((name) => config.mcpServers.find((s) => s.name === name));
      assert.equal(remote.type, 'streamable-http');
      return { local, remote: { url: remote.url, authorization: header(remote.requestOptions?.headers) } };
    },
    key: '${{ secrets.KEY }}', token: 'Bearer ${{ secrets.TOKEN }}',
  },
  copilot: {
    prepare: async (home) => {
      await mkdir(join(home, '.copilot'), { recursive: true });
      await writeFile(join(home, '.copilot/config.json'), JSON.stringify({ trusted_folders: [project] }));
    },
    async read(home) {
      const get = async (name) => json(await shell(home, secrets, here('@github/copilot-linux-x64/copilot'), 'mcp', 'get', name, '--json', '--show-secrets'))[name];
      const [local, remote] = [await get('local'), await get('remote')];
      assert.deepEqual([local.tools, remote.tools, remote.type], [['*'], ['*'], 'http']);
      return { local, remote: { url: remote.url, authorization: header(remote.headers) } };
    },
    key: '${KEY:-}', token: 'Bearer ${TOKEN:-}',
  },
  droid: { read: (home) => spied(home, {}, here('@factory/cli-linux-x64/bin/droid'), 'mcp', 'list') },
  gemini: { read: (home) => spied(home, { GEMINI_CLI_TRUST_WORKSPACE: 'true' }, process.execPath, here('@google/gemini-cli/bundle/gemini.js'), 'mcp', 'list') },
  kilo: { read: opencode(here('@kilocode/cli-linux-x64/bin/kilo')) },
  opencode: { read: opencode(here('opencode-linux-x64/bin/opencode')), token: '***' },
  'qwen-code': { read: (home) => spied(home, {}, process.execPath, here('@qwen-code/qwen-code/cli.js'), 'mcp', 'list') },
};

/** Installs both kinds of entries for a client, and has it read them. */
async function check(name, scope, refers) {
  const { read, prepare, key, token } = readers[name];
  const home = await mkdtemp(join(base, 'home-'));
  await prepare?.(home);
  const install = async (...args) => {
    const flags = scope === 'project' ? ['--project'] : [];
    const [report] = json(await shell(home, secrets, program, 'install', name, ...flags, '--json', ...args));
    return report;
  };
  if (scope === 'BOM') {
    const [{ file }] = json(await shell(home, {}, program, 'clients', '--json')).filter(({ client }) => client === name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '\ufeff' + await readFile(file, 'utf8').catch(() => (file.endsWith('.yaml') || file.endsWith('.toml') ? '# mine\n' : '{}\n')));
  }
  const local = await install('--name', 'local', '--dir', project, '--env', `GIVEN=${given}`, ...(refers ? ['--env', 'KEY'] : []));
  assert.ok(local.tools > 10 && local.status === 'added', JSON.stringify(local));
  const remote = json(await shell(home, {}, program, 'install', name, ...(scope === 'project' ? ['--project'] : []), '--json', '--name', 'remote', '--url', url, ...(refers ? ['--token-env', 'TOKEN'] : []))
    .catch((error) => error.stdout))[0]; // where without a token it is tried, and the address has no server
  assert.equal(remote.status, 'added', JSON.stringify(remote));
  const got = await read(home, local.file);
  const errors = name === 'codex' ? [] : ['--errors', 'result'];
  assert.equal(got.local.command, program);
  assert.deepEqual(got.local.args, ['serve', '--stdio', project, ...errors]);
  assert.equal(got.local.env.GIVEN, given);
  assert.equal(got.remote.url, url);
  if (refers) {
    assert.equal(got.local.env.KEY, key ?? secrets.KEY);
    assert.equal(got.remote.authorization, token ?? `Bearer ${secrets.TOKEN}`);
  }
}

let passed = 0;
let failed = 0;
const limit = setTimeout(() => { console.error(`not done after ${RUN_DEADLINE_MS} ms`); process.exit(1); }, RUN_DEADLINE_MS);
try {
  for (const dir of [dirname(program), project]) await mkdir(dir, { recursive: true });
  await copyFile(resolve(process.argv[2]), program);
  const index = await readFile(join(import.meta.dirname, '../../../docs/clients/README.md'), 'utf8');
  const rows = [...index.matchAll(/^\| \[.*\| `(.*?)` \|(.*)\|(.*)\|$/gm)].map(([, name, projects, own]) => ({ name, projects: projects.includes('yes'), own: own.includes('`') }));
  assert.deepEqual(rows.filter(({ name, own }) => own && name !== 'claude-code').map(({ name }) => name), Object.keys(readers), 'clients in docs/clients/README.md that have a reader');
  const chosen = process.argv.slice(3);
  for (const { name, projects } of rows.filter(({ name }) => readers[name] && (chosen.length === 0 || chosen.includes(name)))) {
    for (const scope of ['user', 'BOM', ...(projects ? ['project'] : [])]) {
      const refers = name !== 'cline' && !(name === 'kilo' && scope === 'project');
      const outcome = await check(name, scope, refers).then(() => { passed++; return 'ok'; }, (error) => { failed++; return `FAILED: ${error.stack}\n${error.stderr ?? ''}`; });
      console.log(`readers, ${name} (${scope}): ${outcome}`);
      await rm(join(project), { recursive: true, force: true });
      await mkdir(project);
    }
  }
} finally {
  clearTimeout(limit);
  site.close();
  site.closeAllConnections();
  await rm(base, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
