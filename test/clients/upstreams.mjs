// Compares what clients get from other MCP servers directly with what they get from
// them through toolserver: lists, results, errors, notifications, questions. Nothing
// may differ but what normal() names.

import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { tmpdir } from 'node:os';

import { differences, same } from './difference.mjs';
import { RECORDED, openRecorded } from './recorded.mjs';
import { CALLS } from './servers/content.mjs';
import { serveHTTP, startFake, startOnPort, until } from './spawn.mjs';
import { PIXEL, World } from './world.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const everything = here('node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const filesystem = here('node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');

// An upstream is how it is started on stdio, how over HTTP, what is called (each with
// what it needs), and what its answers have that changes from call to call.
function upstreams(mcpgo, files) {
  const demonstration = (file) => ({
    stdio: [process.execPath, here(file), 'stdio'], http: () => startFake(process.execPath, [here(file), 'http']),
    calls: CALLS, read: ['demo://text', 'demo://blob', 'ui://demo/app.html'], prompts: [['plain', {}], ['poem', { about: 'rain' }]],
  });
  const all = {
    everything: {
      stdio: [process.execPath, everything, 'stdio'],
      http: () => startOnPort(process.execPath, [everything, 'streamableHttp'], '/mcp'),
      calls: [
        { tool: 'echo', args: { message: 'é "x" \u2028' } }, { tool: 'get-sum', args: { a: 1.5, b: 2 } }, { tool: 'get-tiny-image', args: {} },
        { tool: 'get-annotated-message', args: { messageType: 'error', includeImage: true } }, { tool: 'get-structured-content', args: { location: 'New York' } },
        { tool: 'get-resource-links', args: { count: 2 } }, { tool: 'get-resource-reference', args: { resourceType: 'Text', resourceId: 1 } },
        { tool: 'trigger-long-running-operation', args: { duration: 0.2, steps: 4 } }, { tool: 'trigger-elicitation-request', args: {}, asks: true },
        { tool: 'trigger-sampling-request', args: { prompt: 'Rain', maxTokens: 20 }, asks: true },
      ],
      read: ['demo://resource/static/document/architecture.md'], prompts: [['simple-prompt', {}], ['args-prompt', { city: 'Rome', state: 'Lazio' }]],
      changing: [/created at [^"]*?(AM|PM)/g],
    },
    filesystem: {
      stdio: [process.execPath, filesystem, files],
      calls: [
        { tool: 'list_allowed_directories', args: {} }, { tool: 'list_directory', args: { path: files } }, { tool: 'read_text_file', args: { path: join(files, 'notes.txt') } },
        { tool: 'read_media_file', args: { path: join(files, 'pixel.png') } }, { tool: 'directory_tree', args: { path: files } }, { tool: 'search_files', args: { path: files, pattern: '*.txt' } },
        { tool: 'edit_file', args: { path: join(files, 'notes.txt'), edits: [{ oldText: 'beta', newText: 'BETA' }], dryRun: true } },
        { tool: 'read_text_file', args: { path: join(files, 'none.txt') } }, { tool: 'read_text_file', args: { path: '/etc/hostname' } },
      ],
      read: [], prompts: [],
    },
    'ts-v1': demonstration('servers/v1.mjs'),
    // Over HTTP, this one has no sessions, so that clients of the legacy generation are never asked.
    'ts-v2': { ...demonstration('servers/v2.mjs'), sessionless: true },
    mcpgo: {
      stdio: [mcpgo], http: () => startFake(mcpgo, ['--http', '127.0.0.1:0']),
      calls: [
        { tool: 'blocks' }, { tool: 'structured' }, { tool: 'app' }, { tool: 'refuse' }, { tool: 'fail' }, { tool: 'tell' }, { tool: 'keywords', args: { kind: 'a', name: 'x' } },
        { tool: 'elicit', asks: true }, { tool: 'sample', asks: true }, { tool: 'wait', cancels: true },
      ],
      read: ['mcpgo://text', 'mcpgo://blob', 'mcpgo://items/7'], prompts: [['poem', { about: 'rain' }]],
    },
  };
  if (!mcpgo) delete all.mcpgo;
  return all;
}

// normal removes what is the server's that a client talks to, and so must differ.
function normal(value, changing = []) {
  const text = JSON.stringify(value, (key, member) => {
    switch (key) {
      case 'resultType': // both are of the protocol version between client and server
      case 'ttlMs': case 'cacheScope': return undefined;
      case 'text': return parsed(member); // in JSON, each library has its own order of members
      case 'progressToken': return undefined; // chosen by who asks for progress
      case '_meta': {
        const { 'io.modelcontextprotocol/serverInfo': info, 'io.modelcontextprotocol/subscriptionId': id, ...rest } = member;
        return Object.keys(rest).length > 0 ? rest : undefined;
      }
      default: return member;
    }
  });
  return text === undefined ? undefined : JSON.parse(changing.reduce((all, pattern) => all.replace(pattern, ''), text));
}

// said leaves out what toolserver itself logs of a call, and that server-everything
// asks for roots some time after a session has begun, whatever is called then.
function said(outcome) {
  if (!outcome.said) return outcome;
  return {
    ...outcome,
    said: outcome.said.filter(({ params }) => params?.logger !== 'toolserver' && !/^Roots updated/.test(params?.data)),
    asked: outcome.asked.filter(({ method }) => method !== 'roots/list'),
  };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// named returns the items of a list by what identifies them.
const named = (items, key) => Object.fromEntries(items.map((item) => [item[key], item]));

// Through is one upstream as toolserver offers it.
class Through {
  constructor(session, name) {
    Object.assign(this, { session, prefix: `${name}__`, space: `mcp://${name}/` });
  }

  // list returns what the upstream has of a list, under its own names.
  async list(member) {
    const own = (await this.session.list(member)).filter(({ name }) => name.startsWith(this.prefix));
    return own.map((item) => {
      const named = { ...item, name: item.name.slice(this.prefix.length) };
      for (const key of ['uri', 'uriTemplate']) if (item[key]?.startsWith(this.space)) named[key] = item[key].slice(this.space.length);
      return named;
    });
  }

  call(name, args) { return this.session.call(this.prefix + name, args); }

  cancel(name, ...rest) { return this.session.cancel(this.prefix + name, ...rest); }

  prompt(name, args) { return this.session.prompt(this.prefix + name, args); }

  // read reads what is a resource of toolserver's own, which contents[].uri says, too.
  async read(uri) {
    const outcome = await this.session.read(this.space + uri);
    for (const content of outcome.answer.result?.contents ?? []) content.uri = content.uri?.startsWith(this.space) ? content.uri.slice(this.space.length) : `not in ${this.space}: ${content.uri}`;
    return outcome;
  }
}

// observe makes all requests and returns what came of them, by name.
async function observe(peer, upstream, asks) {
  const seen = {};
  const note = async (name, work) => {
    seen[name] = await work().then(said).then((value) => normal(value, upstream.changing), (error) => ({ failed: error.message }));
  };
  for (const [member, key] of [['tools', 'name'], ['resources', 'name'], ['resourceTemplates', 'name'], ['prompts', 'name']]) {
    await note(`list ${member}`, async () => named(await peer.list(member), key));
  }
  for (const { tool, args = {}, cancels, asks: needs } of upstream.calls) {
    if (cancels || (needs && !asks)) continue;
    await note(`${tool} ${JSON.stringify(args)}`, () => peer.call(tool, args));
  }
  for (const uri of upstream.read) await note(`read ${uri}`, () => peer.read(uri));
  for (const [name, args] of upstream.prompts) await note(`prompt ${name}`, () => peer.prompt(name, args));
  return seen;
}

async function cancelArrives(peer, tool, dir) {
  const at = join(dir, `${Math.random().toString(36).slice(2)}`);
  const has = async (word) => (await readFile(at, 'utf8').catch(() => '')).includes(word);
  await peer.cancel(tool, { at }, () => until(10_000, 'the call has begun', () => has('begun')));
  await until(10_000, 'the upstream hears of it', () => has('canceled'));
}

// compareUpstreams runs all of it with each client whose label contains `only`.
export async function compareUpstreams(report, binary, mcpgo, only) {
  const labels = Object.keys(RECORDED).filter((label) => `upstreams ${label}`.includes(only));
  if (labels.length === 0) return;
  const files = await realpath(await mkdtemp(join(tmpdir(), 'toolserver-upstreams-')));
  await writeFile(join(files, 'notes.txt'), 'alpha\nbeta\n');
  await writeFile(join(files, 'pixel.png'), Buffer.from(PIXEL, 'base64'));
  const stops = [];
  try {
    const entries = {}; // name: {upstream, target, settings}
    for (const [name, upstream] of Object.entries(upstreams(mcpgo, files))) {
      const [command, ...args] = upstream.stdio;
      const env = { PATH: process.env.PATH };
      entries[name] = { upstream, target: { command, args, env, cwd: files }, settings: { command, args, cwd: files } };
      if (!upstream.http) continue;
      const { url, stop } = await upstream.http();
      stops.push(stop);
      entries[`${name}-http`] = { upstream, target: { url }, settings: { url }, stateless: upstream.sessionless };
    }
    for (const label of labels) await compareClient(report, binary, label, entries);
  } catch (error) {
    report.abandon('upstreams', error);
  } finally {
    for (const stop of stops) await stop().catch(() => {});
    await rm(files, { recursive: true, force: true });
  }
}

// openDirect connects to an upstream. A client that is pinned to a protocol version
// the upstream does not speak has toolserver's help only.
async function openDirect(how, target) {
  try {
    return await openRecorded(how, target);
  } catch (error) {
    if (!how.modern) throw error;
    return openRecorded(RECORDED['sdk v2 auto'], target);
  }
}

// newest observes what a client of the newest protocol version gets, such as
// toolserver is to the upstream: some libraries answer differently in each.
async function newest(entry) {
  const session = await openRecorded(RECORDED['sdk v2 auto'], entry.target);
  const seen = await observe(session, entry.upstream, true);
  await session.close();
  return seen;
}

// sameAsEither throws if a client gets through toolserver what neither it nor a client
// of the newest protocol version gets directly.
function sameAsEither(want, newest, got) {
  if (differences(newest, got).length > 0) same(want, got);
}

async function compareClient(report, binary, label, entries) {
  const how = RECORDED[label];
  const asks = (entry) => how.modern || !entry.stateless;
  const direct = {};
  for (const [name, entry] of Object.entries(entries)) {
    try {
      const session = await openDirect(how, entry.target);
      await session.setLevel('debug');
      direct[name] = await observe(session, entry.upstream, asks(entry));
      await session.close();
      entry.newest ??= await newest(entry);
    } catch (error) {
      report.abandon(`${label}: ${name} directly`, error);
    }
  }
  for (const front of ['stdio', 'http']) {
    const group = report.group(`upstreams ${label} ${front}`);
    const world = await World.create({ discovery: 'all', mcp_servers: Object.fromEntries(Object.entries(entries).map(([name, { settings }]) => [name, settings])) });
    let server;
    let session;
    try {
      const at = { cwd: world.work, env: world.env };
      server = front === 'http' ? await serveHTTP({ binary, config: world.config, ...at }) : undefined;
      session = await openRecorded(how, server ?? { command: binary, args: ['serve', '--stdio', '--config', world.config], ...at });
      await session.setLevel('debug');
      await until(30_000, 'all upstreams are connected', async () => {
        const listed = await session.list('tools');
        return Object.keys(entries).every((name) => listed.some((tool) => tool.name.startsWith(`${name}__`)));
      });
      for (const [name, entry] of Object.entries(entries)) {
        if (!direct[name]) continue;
        const through = new Through(session, name);
        const got = await observe(through, entry.upstream, asks(entry));
        for (const [what, want] of Object.entries(direct[name])) await group.test(`${name}: ${what}`, async () => sameAsEither(want, entry.newest[what], got[what]));
        for (const { tool, cancels } of entry.upstream.calls) {
          if (cancels) await group.test(`${name}: cancel reaches ${tool}`, () => cancelArrives(through, tool, world.root));
        }
      }
    } catch (error) {
      report.abandon(`upstreams ${label} ${front}`, error);
    } finally {
      await session?.close().catch(() => {});
      await server?.stop().catch(() => {});
      await world.remove();
      group.close();
    }
  }
}
