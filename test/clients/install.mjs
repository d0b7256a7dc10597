// Installs a built toolserver into MCP clients, and has others judge the outcome:
//
//   node install.mjs TOOLSERVER
//
// Claude Code reads what was written (in an empty network namespace where that can be made),
// and parsers that programs use read the files of all clients. Ends with status 1 if something failed.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

import { parse as parseJSONC } from 'jsonc-parser';
import * as yaml from 'js-yaml';
import { parse as parseTOML } from 'smol-toml';

const COMMAND_DEADLINE_MS = 60_000;

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const base = await mkdtemp(join(tmpdir(), 'install-'));
const home = join(base, 'home');
const bin = join(base, 'bin');
const project = join(base, 'the project');
// A path that shells, JSON, TOML and YAML must quote.
const program = join(base, `tool's "é" $ server`, 'toolserver');

const env = {
  HOME: home, PATH: `${bin}:${process.env.PATH}`, USER: 'somebody', TERM: 'dumb',
  DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
};
const alone = await run('unshare', ['-n', 'true']).then(() => ['unshare', '-n'], () => []);

/** Runs a command without a network, and returns what it prints. */
async function shell(...line) {
  const [file, ...args] = [...alone, ...line];
  const { stdout } = await run(file, args, { env, cwd: project, timeout: COMMAND_DEADLINE_MS, maxBuffer: 16 << 20 });
  return stdout;
}

const toolserver = async (...args) => JSON.parse(await shell(program, ...args, '--json'));

/** Parses the file of a client as programs do. */
async function parse(file) {
  const text = await readFile(file, 'utf8');
  if (file.endsWith('.toml')) {
    const script = 'import json, sys, tomllib; print(json.dumps(tomllib.load(open(sys.argv[1], "rb")), default=str))';
    const read = JSON.parse(await shell('python3', '-c', script, file));
    assert.deepEqual(read, JSON.parse(JSON.stringify(parseTOML(text))));
    return read;
  }
  if (file.endsWith('.yaml')) return yaml.load(text);
  const errors = [];
  const read = parseJSONC(text.replace(/^\ufeff/, ''), errors, { allowTrailingComma: true });
  assert.deepEqual(errors, []);
  return read;
}

/** Returns the strings in a value. */
function strings(value) {
  if (typeof value === 'string') return [value];
  return value && typeof value === 'object' ? Object.values(value).flatMap(strings) : [];
}

// What is in the files before, as people have it.
const before = {
  json: '\ufeff// mine\r\n{\r\n\t"n": 9007199254740991, // n\r\n\t"z": {},\r\n}\r\n',
  toml: '# mine\nn = 9007199254740991 # n\nday = 2024-01-01\n',
  yaml: '# mine\nversion: "1.10" # v\nn: 9007199254740991\n',
};

async function parsers() {
  const clients = (await toolserver('clients')).filter(({ client, file }) => client !== 'claude-code' && file); // has a program here
  assert.ok(clients.length > 20);
  const names = clients.map(({ client }) => client);
  const text = (file) => before[file.split('.').pop()] ?? before.json;
  for (const { file } of clients) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text(file));
  }
  for (const { client, status, tools, file } of await toolserver('install', ...names)) {
    assert.equal(status, 'added', client);
    assert.ok(tools > 10, client);
    const read = await parse(file);
    assert.equal(read.n, 9007199254740991, client);
    for (const word of [program, 'serve', '--stdio', project]) {
      assert.ok(strings(read).includes(word), `${client}: ${word} is not in ${JSON.stringify(read)}`);
    }
  }
  for (const { client, status } of await toolserver('install', '--dry-run', ...names)) assert.equal(status, 'unchanged', client);
  for (const { client, status, file } of await toolserver('uninstall', ...names)) {
    assert.equal(status, 'removed', client);
    assert.equal(await readFile(file, 'utf8'), text(file), client);
  }
  return `${names.length} clients`;
}

async function claudeCode() {
  const binary = require.resolve(`@anthropic-ai/claude-code-${process.platform}-${process.arch}/package.json`);
  await symlink(join(dirname(binary), 'claude'), join(bin, 'claude'));
  const [added] = await toolserver('install', 'claude-code');
  assert.equal(added.status, 'added');
  assert.match(await shell('claude', 'mcp', 'list'), /toolserver: .* ✔ Connected/);
  const [again] = await toolserver('install', 'claude-code', '--dry-run');
  assert.equal(again.status, 'unchanged');
  await assert.rejects(toolserver('install', 'claude-code', '--env', 'BRAVE_API_KEY'), ({ stdout }) => JSON.parse(stdout)[0].status === 'differs');
  const [replaced] = await toolserver('install', 'claude-code', '--env', 'BRAVE_API_KEY', '--force');
  assert.equal(replaced.status, 'replaced');
  assert.match(await shell('claude', 'mcp', 'get', 'toolserver'), /BRAVE_API_KEY/);
  const [removed] = await toolserver('uninstall', 'claude-code');
  assert.equal(removed.status, 'removed');
  await assert.rejects(shell('claude', 'mcp', 'get', 'toolserver'), ({ stdout, stderr }) => /No MCP server/.test(stdout + stderr));
  return require('@anthropic-ai/claude-code/package.json').version;
}

async function atOnce() {
  const names = Array.from({ length: 6 }, (_, i) => `server-${i}`);
  const all = await Promise.all(names.map((name) => toolserver('install', 'cursor', '--name', name)));
  assert.deepEqual(all.map(([r]) => r.status), names.map(() => 'added'));
  const read = await parse(all[0][0].file);
  for (const name of names) assert.ok(read.mcpServers[name], name);
  return `${names.length} installs`;
}

/** Has config import read what is installed for each client, in both scopes. */
async function imports() {
  let entries = 0;
  for (const scope of [[], ['--project']]) {
    for (const { client, file } of await toolserver('clients', ...scope)) {
      if (!file || (client === 'claude-code' && !scope.length)) continue; // has a program here
      await rm(file, { force: true });
      const url = 'http://127.0.0.1:9/mcp';
      const take = async () => {
        const read = await toolserver('config', 'import', file);
        return read.mcp_servers;
      };
      await toolserver('install', client, ...scope, '--name', 'local', '--env', 'GIVEN=a b');
      const { local } = await take();
      assert.deepEqual([local.command, local.args].flat().slice(0, 3), [program, 'serve', '--stdio'], client);
      assert.equal(local.env.GIVEN, 'a b', client);
      const [remote] = JSON.parse(await shell(program, 'install', client, ...scope, '--name', 'remote', '--url', url, '--json').catch(({ stdout }) => stdout));
      if (client === 'claude-desktop') assert.match(remote.problem, /takes no address/);
      else assert.equal((await take()).remote.url, url, client);
      entries += 2;
      await rm(file, { force: true });
    }
  }
  return `${entries} entries`;
}

let failed = 0;
try {
  for (const dir of [home, bin, project, dirname(program)]) await mkdir(dir, { recursive: true });
  await copyFile(resolve(process.argv[2]), program);
  for (const check of [parsers, claudeCode, atOnce, imports]) {
    const began = Date.now();
    const outcome = await check().then((what) => `ok (${what})`, (error) => { failed++; return `FAILED: ${error.stack}\n${error.stderr ?? ''}`; });
    console.log(`install, ${check.name}: ${outcome} in ${((Date.now() - began) / 1000).toFixed(1)} s`);
  }
} finally {
  await rm(base, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;
