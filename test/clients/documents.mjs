// Resources: what is listed, what can be read, and news of changes.

import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';

import { TOOLS } from './cases.mjs';
import { asSent, protocolError } from './expect.mjs';
import { until } from './spawn.mjs';
import { PIXEL } from './world.mjs';

const CONFIG = 'config://server';
const HEALTH = 'status://health';
const FILES = 'file:///{path}';
const NOTES = 'alpha\nbeta\ngamma\n';
const NEWS_MS = 15_000; // files are looked at every two seconds

export async function runDocuments(group, session, world) {
  await group.test('resources/list', async () => {
    const resources = await session.resources();
    assert.deepEqual(resources.map(({ uri }) => uri), [CONFIG, HEALTH]);
    for (const resource of resources) described(resource, ['name', 'title', 'description', 'mimeType']);
  });
  await group.test('resources/templates/list', async () => {
    const templates = await session.templates();
    assert.deepEqual(templates.map(({ uriTemplate }) => uriTemplate), [FILES]);
    for (const template of templates) described(template, ['name', 'title', 'description']);
  });
  for (const { name, uri, check } of readable(world)) {
    await group.test(`resources/read: ${name}`, async () => check(contentsOf(await session.read(uri), uri), session));
  }
  for (const { name, uri, want } of unreadable(world)) {
    await group.test(`resources/read: ${name}`, async () => refuses(session, await session.read(uri), uri, want));
  }
  if (session.sees.changes) await runChanges(group, session, world);
}

function described(item, fields) {
  for (const field of fields) assert.ok(item[field], `${field} in ${JSON.stringify(item)}`);
}

// contentsOf is the one document a reading ends with.
function contentsOf(answer, uri) {
  assert.ok(answer.result, `want contents, got the error ${JSON.stringify(answer.error)}`);
  assert.equal(answer.result.contents.length, 1);
  const [contents] = answer.result.contents;
  assert.equal(contents.uri, uri);
  return contents;
}

function absolute(world, name) {
  return pathToFileURL(world.path(name)).href;
}

function readable(world) {
  const notes = (contents) => {
    assert.equal(contents.mimeType, 'text/plain');
    assert.equal(contents.text, NOTES);
  };
  return [
    {
      name: 'configuration', uri: CONFIG,
      check({ mimeType, text }) {
        assert.equal(mimeType, 'application/yaml');
        assert.ok(text.includes(`working_directory: ${world.work}\n`), text);
      },
    },
    {
      name: 'health', uri: HEALTH,
      check({ mimeType, text }, session) {
        assert.equal(mimeType, 'application/json');
        const health = JSON.parse(text);
        assert.equal(health.status, 'ok');
        assert.equal(health.tools_enabled, TOOLS.length);
        assert.equal(health.tools_disabled, 1); // delete_file
        const { server } = session.info() ?? {};
        if (server) assert.equal(health.version, server.version);
      },
    },
    { name: 'file, absolute', uri: absolute(world, 'notes.txt'), check: notes },
    { name: 'file, relative', uri: 'file:///notes.txt', check: notes },
    { name: 'file, its path encoded', uri: 'file:///sub%2Fdeep.txt', check: ({ text }) => assert.equal(text, 'gamma ray\n') },
    {
      name: 'image', uri: absolute(world, 'pixel.png'),
      check({ mimeType, blob }) {
        assert.equal(mimeType, 'image/png');
        assert.equal(blob, PIXEL);
      },
    },
  ];
}

function unreadable(world) {
  const missing = /none\.txt does not exist/;
  return [
    { name: 'missing file, absolute', uri: absolute(world, 'none.txt'), want: { type: 'resource_not_found', message: missing } },
    // It is outside as an absolute path, so that the policy is a reason, too.
    { name: 'missing file, relative', uri: 'file:///none.txt', want: { type: 'denied', message: missing } },
    { name: 'directory', uri: absolute(world, 'sub'), want: { type: 'resource_not_found', message: /directory/ } },
    { name: 'outside the roots', uri: 'file:///etc/hostname', want: outside(world) },
    { name: 'outside the roots, by dots', uri: 'file:///..%2Ftoolserver.yaml', want: outside(world) },
    {
      name: 'nothing of the kind', uri: 'nowhere://x',
      want: { type: 'resource_not_found', tool: 'resources/read', message: /nowhere:\/\/x/ },
    },
  ];
}

function outside(world) {
  return { type: 'denied', message: new RegExp(`outside the allowed paths.*${world.work}`) };
}

// refuses checks the error of a document that cannot be had. The eras have
// different codes for it.
function refuses(session, answer, uri, want) {
  protocolError(session, asSent(session, answer), {
    code: session.modern ? -32602 : -32002, tool: 'resource file', ...want,
    data: (data) => assert.equal(data.uri, uri, 'data.uri'),
  });
}

async function runChanges(group, session, world) {
  const uri = absolute(world, 'watched.txt');
  const tells = (what) => until(NEWS_MS, `the server tells that the file is ${what}`, () => session.updates.splice(0).includes(uri));
  await group.test('subscription to a file', async () => {
    await world.write('watched.txt', 'one');
    const { result, error } = await session.watch(uri);
    assert.ok(result?.granted, `not granted: ${JSON.stringify(error)}`);
    assert.equal(contentsOf(await session.read(uri), uri).text, 'one');
    await world.write('watched.txt', 'one and two');
    await tells('another one');
    assert.equal(contentsOf(await session.read(uri), uri).text, 'one and two', 'the client reads it anew');
    await rm(world.path('watched.txt'));
    await tells('gone');
    await result.stop();
  });
  await group.test('subscription to the configuration', async () => {
    const { result, error } = await session.watch(CONFIG);
    assert.ok(result?.granted, `not granted: ${JSON.stringify(error)}`);
    await world.configure({ errors: 'result' });
    await until(NEWS_MS, 'the server tells that it is another one', () => session.updates.splice(0).includes(CONFIG));
    assert.match(contentsOf(await session.read(CONFIG), CONFIG).text, /^errors: result$/m);
    await result.stop();
  });
  await group.test('no subscription to a missing file', async () => {
    refusesWatch(session, await session.watch(absolute(world, 'none.txt')), -32002);
  });
  await group.test('no subscription to what does not tell of changes', async () => {
    refusesWatch(session, await session.watch(HEALTH), -32602);
  });
}

// refusesWatch: the legacy era answers with an error, the modern one opens a
// stream that leaves out what cannot be had.
function refusesWatch(session, answer, code) {
  const { result, error } = asSent(session, answer);
  if (session.modern) assert.equal(result?.granted, false, `granted (error: ${JSON.stringify(error)})`);
  else assert.equal(error?.code, code, `code of ${JSON.stringify(error)}`);
}
