// Has the SDK's client for skills list, read and verify the skills of a built toolserver: those in a directory, those of the program, and
// those of a server on the SDK behind it. On both transports, in both generations of the protocol:
//
//   node skills.mjs TOOLSERVER

import assert from 'node:assert/strict';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillVerificationError, SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { mintToken } from './auth.mjs';
import { Report } from './report.mjs';
import { endAll, output, serveHTTP, until } from './spawn.mjs';
import { NEGOTIATIONS } from './v2.mjs';
import { World } from './world.mjs';

const WAIT_MS = 15_000;

const binary = resolve(process.argv[2]);
const report = new Report();

const main = (name, text = 'Text.') => `---\nname: ${name}\ndescription: Does it.\nlicense: MIT\nmetadata:\n  version: "1.0"\ntags: [a, "2", 3.5, 2026-01-31, true, null]\n---\n${text}\n`;

async function write(directory, files) {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(directory, name, '..'), { recursive: true });
    await writeFile(`${directory}.next`, content); // not in a skill, which would have one file more
    await rename(`${directory}.next`, join(directory, name));
  }
}

// prepare makes a world with two directories of skills: ours, and those of the server behind.
async function prepare(settings) {
  const world = await World.create();
  const ours = join(world.root, 'skills');
  const theirs = join(world.root, 'theirs');
  await write(ours, {
    'acme/refunds/SKILL.md': main('refunds'), 'acme/refunds/templates/mail é.md': 'Dear\r\n', 'acme/refunds/templates/Q&A [1]#?%41.md': '', 'acme/refunds/templates/eu/raw.bin': Buffer.from([0, 255, 254]),
    'acme/refunds/approve/SKILL.md': main('approve'), 'staff/SKILL.md': main('staff'), 'broken/SKILL.md': '---\nname: [\n---\n', 'refunds/SKILL.md': main('refunds'),
  });
  await write(theirs, { 'refunds/SKILL.md': main('refunds', 'Theirs.'), 'refunds/scripts/run.py': 'print(1)\n', 'second/SKILL.md': main('second') });
  const server = { command: process.execPath, args: [fileURLToPath(new URL('servers/skills.mjs', import.meta.url)), theirs] };
  const base = { skills: { directories: [ours] }, mcp_servers: { sdk: server }, discovery: 'all', ...settings };
  await world.configure(base);
  return { world, ours, theirs, base };
}

async function connect(negotiation, transport) {
  const client = new Client({ name: 'toolserver-clients', version: '1.0.0' }, NEGOTIATIONS[negotiation].options);
  await client.connect(transport);
  return { client, skills: new SkillsClient(client), close: () => client.close() };
}

const uris = (listing) => listing.skills.map((skill) => skill.uri);

// upstreamReady waits until the skills of the server behind are listed.
const upstreamReady = ({ skills }) => until(WAIT_MS, 'skills of the server', async () => uris(await skills.list()).some((uri) => uri.startsWith('skill://sdk/')));

// verifyAll reads all files of all skills, and compares directories with the entries.
async function verifyAll({ skills }) {
  const listing = await skills.list();
  let files = 0;
  for (const skill of listing.skills) {
    assert.deepEqual((await skills.get(skill.uri)).skill, skill);
    for (const { uri } of skill.resources) {
      assert.equal((await skills.read(skill, uri)).verified, true, uri);
      files++;
    }
    const found = [];
    const descend = async (directory) => {
      for (const child of (await skills.readDirectory(directory)).resources) {
        if (child.mimeType === 'inode/directory') await descend(child.uri);
        else found.push(child.uri);
      }
    };
    await descend(skill.uri.slice(0, -'/SKILL.md'.length));
    assert.deepEqual(found.sort(), skill.resources.map(({ uri }) => uri).sort());
  }
  return { listing, files };
}

const EXPECTED = [
  'skill://acme/refunds/SKILL.md', 'skill://acme/refunds/approve/SKILL.md', 'skill://refunds/SKILL.md', 'skill://sdk/refunds/SKILL.md',
  'skill://sdk/second/SKILL.md', 'skill://staff/SKILL.md', 'skill://toolserver/large-results/SKILL.md', 'skill://toolserver/many-tools/SKILL.md',
  'skill://toolserver/policy-and-refusals/SKILL.md',
];

// changed checks that a client which holds an old entry gets nothing under it, and everything under the new one.
async function changed({ skills }, uri, change, path) {
  const { skill } = await skills.get(uri);
  await change('Another text of another length.');
  await until(WAIT_MS, 'the change', async () => {
    try {
      await skills.read(skill, path, { cacheMode: 'refresh' });
      return false;
    } catch (error) {
      assert.ok(error instanceof SkillVerificationError || /is not as the entry|changed since/.test(error.message), String(error));
      return true;
    }
  });
  const now = await until(WAIT_MS, 'another entry', async () => {
    const got = (await skills.get(uri)).skill;
    return JSON.stringify(got) !== JSON.stringify(skill) && got;
  });
  assert.match((await skills.read(now, path, { cacheMode: 'refresh' })).text, /Another text/);
}

async function run(transport, negotiation) {
  const group = report.group(`skills, ${transport}, ${negotiation}`);
  const { world, ours, theirs, base } = await prepare({ server: { allowed_hosts: [] } });
  const server = transport === 'http' ? await serveHTTP({ binary, config: world.config, cwd: world.work, env: world.env }) : undefined;
  const session = await connect(negotiation, server
    ? new StreamableHTTPClientTransport(new URL(server.url))
    : new StdioClientTransport({ command: binary, args: ['serve', '--stdio', '--config', world.config], cwd: world.work, env: world.env, stderr: 'ignore' }));
  try {
    await group.test('the extension is declared', async () => assert.deepEqual([session.skills.supported, session.skills.directoryRead], [true, true]));
    await upstreamReady(session);
    await group.test('every file is verified', async () => {
      const { listing, files } = await verifyAll(session);
      assert.deepEqual(uris(listing), EXPECTED);
      assert.equal(files, 14);
    });
    await group.test('unknown skills and directories', async () => {
      for (const ask of [() => session.skills.get('skill://none/SKILL.md'), () => session.skills.readDirectory('skill://none'),
        () => session.skills.readDirectory('skill://refunds/SKILL.md'), () => session.skills.get('skill://broken/SKILL.md')]) {
        await assert.rejects(ask, { code: -32602 });
      }
    });
    await group.test('a file changes', () => changed(session, 'skill://acme/refunds/SKILL.md',
      (text) => write(ours, { 'acme/refunds/templates/mail é.md': text }), 'templates/mail é.md'));
    await group.test('a file of the server behind changes', () => changed(session, 'skill://sdk/refunds/SKILL.md',
      (text) => write(theirs, { 'refunds/scripts/run.py': text }), 'scripts/run.py'));
    await group.test('a skill comes and goes', async () => {
      await write(ours, { 'new/SKILL.md': main('new') });
      assert.ok(uris(await session.skills.list()).includes('skill://new/SKILL.md'));
      await rm(join(ours, 'new'), { recursive: true });
      assert.ok(!uris(await session.skills.list()).includes('skill://new/SKILL.md'));
    });
    await group.test('a reload takes skills away', async () => {
      await world.configure({ ...base, skills: { directories: [ours], settings: { 'acme/refunds': { enabled: false }, 'sdk/second': { enabled: false } } } });
      const gone = ['skill://acme/refunds/SKILL.md', 'skill://sdk/second/SKILL.md'];
      await until(WAIT_MS, 'the reload', async () => !uris(await session.skills.list()).some((uri) => gone.includes(uri)));
      assert.ok(uris(await session.skills.list()).includes('skill://acme/refunds/approve/SKILL.md'));
      for (const uri of [...gone, 'mcp://sdk/skill://second/SKILL.md', 'skill://second/SKILL.md']) await assert.rejects(session.client.readResource({ uri }), /no resource|not found/i, uri);
      await assert.rejects(session.skills.get(gone[0]), { code: -32602 });
      await world.configure({ ...base, protocol: { extensions: { skills: false } } });
      await until(WAIT_MS, 'the second reload', () => session.skills.list().then(() => false, (error) => error.code === -32601 || /not a method of this server/.test(error.message)));
    });
  } finally {
    await session.close();
    await server?.stop();
    await world.remove();
    group.close();
  }
}

// runPrincipals has two people use one server.
async function runPrincipals(negotiation) {
  const group = report.group(`skills of two people, ${negotiation}`);
  const { world, ours, base } = await prepare();
  const people = {};
  for (const name of ['ann', 'ben']) {
    const { token, settings } = await mintToken(binary, world);
    people[name] = { token, entry: { ...settings.server.tokens[0], name } };
  }
  people.ann.entry.groups = ['staff'];
  const settings = { 'acme/refunds/approve': { groups: ['staff'] }, staff: { groups: ['staff'] }, 'sdk/refunds': { groups: ['staff'] } };
  await world.configure({ ...base, server: { tokens: Object.values(people).map(({ entry }) => entry) }, skills: { directories: [ours], settings } });
  const server = await serveHTTP({ binary, config: world.config, cwd: world.work, env: world.env });
  const sessions = [];
  try {
    for (const { token } of Object.values(people)) {
      sessions.push(await connect(negotiation, new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } })));
    }
    const [ann, ben] = sessions;
    await upstreamReady(ann);
    await group.test('each sees their own', async () => {
      assert.deepEqual(uris((await verifyAll(ann)).listing), EXPECTED);
      const hidden = ['skill://acme/refunds/SKILL.md', 'skill://acme/refunds/approve/SKILL.md', 'skill://staff/SKILL.md', 'skill://sdk/refunds/SKILL.md'];
      assert.deepEqual(uris((await verifyAll(ben)).listing), EXPECTED.filter((uri) => !hidden.includes(uri)));
      for (const uri of hidden) {
        await assert.rejects(ben.skills.get(uri), { code: -32602 });
        await assert.rejects(ben.client.readResource({ uri }), /no resource|not found/i);
        await assert.rejects(ben.skills.readDirectory(uri.slice(0, -'/SKILL.md'.length)), { code: -32602 });
      }
      for (const uri of ['mcp://sdk/skill://refunds/SKILL.md', 'mcp://sdk/skill://refunds/scripts/run.py', 'mcp://sdk/skill://refunds/%53KILL.md']) {
        await assert.rejects(ben.client.readResource({ uri }), /no resource|not found/i, uri);
      }
    });
  } finally {
    for (const { close } of sessions) await close();
    await server.stop();
    await world.remove();
    group.close();
  }
}

// runPins holds a changed skill of the server behind back until somebody approves of it.
async function runPins() {
  const group = report.group('skills, pinned');
  const { world, theirs, base } = await prepare();
  await world.configure({ ...base, mcp_servers: { sdk: { ...base.mcp_servers.sdk, pin: 'quarantine' } } });
  const session = await connect('auto', new StdioClientTransport({ command: binary, args: ['serve', '--stdio', '--config', world.config], cwd: world.work, env: world.env, stderr: 'ignore' }));
  const uri = 'skill://sdk/refunds/SKILL.md';
  try {
    await upstreamReady(session);
    await group.test('until approved', async () => {
      await write(theirs, { 'refunds/scripts/run.py': 'print(2)\n' });
      await until(WAIT_MS, 'the change', () => session.skills.get(uri).then(() => false, (error) => /has changed since it was pinned/.test(error.message)));
      assert.ok(!uris(await session.skills.list()).includes(uri));
      await assert.rejects(session.client.readResource({ uri }), /no resource|not found/i);
      const command = ['upstream', 'approve', 'sdk', '--yes', '--config', world.config];
      const done = await output(binary, command, { cwd: world.work, env: world.env });
      assert.equal(done.code, 0, done.stderr);
      assert.match(done.stdout, /skill \(skill:\/\/refunds\/SKILL.md\)[^]*resources[^]*pinned 1 item/);
      await until(WAIT_MS, 'the approval', async () => uris(await session.skills.list()).includes(uri));
      await verifyAll(session);
    });
  } finally {
    await session.close();
    await world.remove();
    group.close();
  }
}

// runDynamic passes on a skill whose files are not listed, and what its server says of directories.
async function runDynamic(negotiation) {
  const group = report.group(`dynamic skills, ${negotiation}`);
  const { world, base } = await prepare();
  await world.configure({ ...base, mcp_servers: { dyn: { command: process.execPath, args: [fileURLToPath(new URL('servers/dynamic.mjs', import.meta.url))] } } });
  const session = await connect(negotiation, new StdioClientTransport({ command: binary, args: ['serve', '--stdio', '--config', world.config], cwd: world.work, env: world.env, stderr: 'ignore' }));
  const root = 'skill://dyn/demo:/reports/daily';
  try {
    await group.test('files and directories', async () => {
      await until(WAIT_MS, 'the skill', async () => uris(await session.skills.list()).includes(`${root}/SKILL.md`));
      const { skill } = await session.skills.get(`${root}/SKILL.md`);
      assert.equal(skill.resources, 'dynamic');
      assert.match((await session.skills.read(skill)).body, /See data/);
      assert.deepEqual((await session.skills.readDirectory(root)).resources.map(({ uri }) => uri), [`${root}/SKILL.md`, `${root}/data`]);
      const [child] = (await session.skills.readDirectory(`${root}/data`)).resources;
      assert.deepEqual({ ...child }, { uri: `${root}/data/now.txt`, name: 'now.txt', mimeType: 'text/plain' });
      assert.equal((await session.skills.read(skill, 'data/now.txt')).text, 'now');
      assert.deepEqual((await session.skills.readDirectory('skill://dyn/demo:/reports')).resources.map(({ mimeType }) => mimeType), ['inode/directory']);
      for (const uri of [`${root}/none`, `${root}/data/now.txt`]) await assert.rejects(session.skills.readDirectory(uri), { code: -32602 }, uri);
      await assert.rejects(session.client.readResource({ uri: `${root}/none` }));
    });
  } finally {
    await session.close();
    await world.remove();
    group.close();
  }
}

// What of odd skills is not wrong: texts that are descriptions and the like, and members that nobody knows.
const FINE = /^skill:\/\/entries\/(good|further|repeated|odd-\d+)\/SKILL.md$/;
const MODES = ['entries', 'none', 'null', 'number', 'object', 'result', 'cursor', 'endless', 'get', 'other', 'nothing', 'contents', 'empty', 'text', 'blob', 'address'];

// runOdd has servers whose skills or answers are odd: each costs at most that skill, and the client, which rejects a list with an
// invalid entry, gets all others.
async function runOdd(negotiation) {
  const group = report.group(`odd skills, ${negotiation}`);
  const { world, base } = await prepare();
  const server = (mode) => ({ command: process.execPath, args: [fileURLToPath(new URL('servers/oddskills.mjs', import.meta.url)), mode], timeout: '20s' });
  await world.configure({ ...base, mcp_servers: Object.fromEntries(MODES.map((mode) => [mode, server(mode)])) });
  const session = await connect(negotiation, new StdioClientTransport({ command: binary, args: ['serve', '--stdio', '--config', world.config], cwd: world.work, env: world.env, stderr: 'ignore' }));
  try {
    const listed = (mode) => async () => uris(await session.skills.list()).includes(`skill://${mode}/good/SKILL.md`);
    await group.test('entries', async () => {
      await until(WAIT_MS, 'the entries', listed('entries'));
      const listing = await session.skills.list();
      const ours = listing.skills.filter(({ uri }) => uri.startsWith('skill://entries/'));
      for (const skill of ours) {
        assert.match(skill.uri, FINE);
        assert.deepEqual((await session.skills.get(skill.uri)).skill, skill);
      }
      assert.equal(new Set(ours.map(({ uri }) => uri)).size, ours.length);
      assert.ok(ours.length > 30 && ours.length < 60, `${ours.length} are offered`);
      const done = await output(binary, ['check', '--json', '--config', world.config], { cwd: world.work, env: world.env });
      const reasons = JSON.parse(done.stdout).findings.filter(({ what, found }) => what === 'skill' && found.includes('source mcp_servers.entries'));
      assert.ok(reasons.length >= 15, `${reasons.length} reasons: ${done.stdout}`);
    });
    for (const mode of ['cursor', 'endless', 'get', 'other', 'nothing', 'contents', 'empty', 'text', 'blob', 'address']) {
      await group.test(mode, async () => {
        await until(WAIT_MS, `the skill of ${mode}`, listed(mode));
        const skill = (await session.skills.list()).skills.find(({ uri }) => uri === `skill://${mode}/good/SKILL.md`);
        if (['get', 'other', 'nothing'].includes(mode)) await assert.rejects(session.skills.get(skill.uri), /no entry/);
        else assert.deepEqual((await session.skills.get(skill.uri)).skill, skill);
        if (['contents', 'empty', 'text', 'blob', 'address'].includes(mode)) await assert.rejects(session.skills.read(skill), /skill:\/\//);
        else assert.equal((await session.skills.read(skill)).verified, true);
      });
    }
    await group.test('no list', async () => {
      for (const mode of ['none', 'null', 'number', 'object', 'result']) assert.equal(await listed(mode)(), false);
      assert.ok(uris(await session.skills.list()).includes('skill://refunds/SKILL.md'));
    });
  } finally {
    await session.close();
    await world.remove();
    group.close();
  }
}

try {
  await Promise.all([
    ...['stdio', 'http'].flatMap((transport) => ['legacy', 'auto'].map((negotiation) => run(transport, negotiation))),
    ...['legacy', 'auto'].map(runPrincipals), runPins(), ...['legacy', 'auto'].map(runOdd), ...['legacy', 'auto'].map(runDynamic),
  ]);
} catch (error) {
  report.abandon('run', error);
}
endAll();
console.log(report.summary());
process.exit(report.failed > 0 || report.passed === 0 ? 1 : 0);
