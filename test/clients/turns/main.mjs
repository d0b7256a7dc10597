// Has real clients take whole turns with a built server, for a model that is a script:
//
//   node main.mjs TOOLSERVER [--only TEXT] [--update]
//
// Each client runs over stdio and HTTP. What it sends, and what it shows the model, is the table in
// docs/clients/behaviour.md, which must be as it is there; --update writes it. Nothing has a network but loopback.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { until, within } from '../spawn.mjs';
import { CLIENTS } from './clients.mjs';
import { startModel } from './model.mjs';
import { recordHTTP } from './record.mjs';
import { LONG, STEPS, TASKS, gone, outcome, running, stopped, taskOf } from './steps.mjs';
import { page, sent } from './page.mjs';
import { alone, launch, leaveNothing, principal, serve, writeConfig } from './start.mjs';

const TURN_MS = 240_000;
const CUT_MS = 6_000;
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

await alone();
const args = process.argv.slice(2);
const flag = (name) => args.includes(name) && args.splice(args.indexOf(name), 1)[0];
const value = (name) => args.includes(name) && args.splice(args.indexOf(name), 2)[1];
const update = flag('--update');
const only = value('--only');
const toolserver = realpathSync(args[0]);
const base = mkdtempSync('/var/tmp/turns-');
leaveNothing(base);
const ann = principal('ann');
const offered = JSON.parse(execFileSync(toolserver, ['tools', '--json', '--config', configure(join(base, 'plain'), () => {})], { encoding: 'utf8' })).tools;

/** Writes the configuration of a server into a directory. */
function configure(directory, change) {
  const config = {
    working_directory: join(directory, 'work'), state_directory: join(directory, 'state'), discovery: 'all',
    server: { tokens: [ann.entry] },
    logging: { file: join(directory, 'log') },
    tools: { create_directory: { confirm: true }, bash: { timeout: '300s' } },
    google: { client_id: 'none', client_secret: 'none', base_url: 'http://127.0.0.1:9' }, sandbox: { private_hosts: ['127.0.0.1:9'] },
    mcp_servers: { up: { command: process.execPath, args: [join(import.meta.dirname, 'upstream.mjs')] } },
  };
  change(config);
  mkdirSync(join(directory, 'work'), { recursive: true });
  const file = join(directory, 'config.yaml');
  writeConfig(file, config);
  return file;
}

let sessions = 0;

/** Has a client take one turn that goes through steps, and returns the cells of their rows, and all that was sent. */
async function session(name, transport, steps, { callMs, elicit, after } = {}) {
  const client = CLIENTS[name];
  const id = ++sessions;
  const directory = join(base, `${id}`);
  const config = configure(directory, () => {});
  const [work, home, notes] = ['work', 'home', 'notes'].map((part) => join(directory, part));
  mkdirSync(home);
  writeFileSync(join(work, 'picture.png'), Buffer.from(PNG, 'base64'));
  writeFileSync(join(work, 'large.txt'), Array.from({ length: 2000 }, (_, i) => `line ${i} `.padEnd(99, 'x')).join('\n') + '\n');
  execFileSync(toolserver, ['upstream', 'list', '--config', config], { stdio: 'ignore' }); // it has been connected to before, as on every day but the first
  let started;
  const cells = {};
  const turn = {
    client, offered, work, elicit, mark: { cut: `297.${1000 + id}`, canceled: `298.${1000 + id}` }, tools: [],
    * call(tool, input) { return yield* turn.ask({ name: client.name(tool), space: client.space, input }); },
    * ask(what) {
      const { tools, result, notified } = yield what;
      Object.assign(turn, { tools, notified });
      return result;
    },
    notes: () => (existsSync(notes) ? readFileSync(notes, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line)) : []),
    plain: (text) => text.replaceAll(directory, '/srv').replaceAll(directory.replace(/[^a-zA-Z0-9]/g, '-'), 'DIRECTORY').replace(/tool_[0-9a-zA-Z]{20,}/g, 'ID').replace(/http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]+/g, 'ADDRESS').replace(/[0-9a-f]{8}-[0-9a-f-]{20,}|\b[a-z2-7]{12}-[a-z2-7]{20,}|\bk[0-9a-z]{8}\b|\bjob-[0-9a-z]{8}\b/g, 'ID').replace(/29[78]\.1\d\d\d/g, '297').replace(/call_\d+/g, 'call_N'),
    async* rest(call) {
      slots.give();
      try { return yield* call; } finally { await slots.take(); }
    },
    /** Has the person at a terminal permit a call about which the client asks them itself, and returns what it has done. */
    async permit(tool) {
      if (!client.lasts) return '';
      const before = turn.notes().length;
      const asked = join(home, 'permitted');
      await until(60_000, 'the client asks for permission', () => existsSync(asked));
      rmSync(asked);
      await until(60_000, 'the client makes the call that was permitted', async () => {
        started.stdin.write('\r'); // Enter, which chooses the first answer: yes
        await new Promise((done) => setTimeout(done, 500)); // the question may not have been there yet
        return turn.notes().slice(before).some(({ message }) => message?.method === 'tools/call' && message.params.name === tool);
      });
      return 'asks for permission first; ';
    },
    async interrupt() {
      if (!client.lasts) return started.kill('SIGINT');
      started.stdin.write('\x1b'); // Escape
      const before = turn.notes().length;
      await until(20_000, 'the client gives up the call', () => turn.notes().slice(before).some(({ ended, message }) => ended || message?.method === 'notifications/cancelled'));
      model.over = true;
    },
    async change(edit) {
      const log = join(directory, 'log');
      const reloads = () => readFileSync(log, 'utf8').split('configuration reloaded').length;
      const before = reloads();
      configure(directory, edit);
      await until(20_000, 'the configuration is reloaded', () => reloads() > before);
    },
  };
  let step = 'connecting';
  const model = await startModel(client.wire, async function* ({ tools }) {
    const ours = (all) => all.some((tool) => tool.name === client.name('echo') && tool.space === client.space);
    for (let waited = 0; waited < 30 && !ours(tools); waited++) ({ tools } = yield client.pause); // it has not connected yet
    turn.tools = tools;
    for (const [row, play] of Object.entries(steps)) {
      step = row;
      cells[row] = await (yield* play(turn));
    }
    step = 'the end';
  });
  const server = transport === 'HTTP' ? await serve(toolserver, config) : undefined;
  const record = server && await recordHTTP(notes, server.url);
  const stdio = { command: process.execPath, args: [join(import.meta.dirname, 'record.mjs'), notes, toolserver, 'serve', '--stdio', '--config', config] };
  try {
    const { child, said, ended } = launch(client.prepare({ home, work, model: model.url, entry: record ? { url: record.url, token: ann.token } : stdio, callMs, elicit }), home, client.lasts);
    started = child;
    const over = client.lasts ? until(TURN_MS, 'the turn is over', () => model.over) : ended;
    const code = await within(TURN_MS, `${name} over ${transport}`, Promise.race([ended, over])).catch((error) => {
      throw new Error(`${step}: ${error.message}; the client said: ${said()}`);
    });
    if (client.lasts) await within(20_000, 'the client ends', (child.kill(), ended));
    if (model.failure) throw Object.assign(new Error(`${step}: ${model.failure.message}`), { stack: model.failure.stack });
    if (step !== 'the end' && !after) throw new Error(`the client ended (${code}) at ${step}; it said: ${said()}`);
    await after?.(turn, cells);
    return { cells, notes: turn.notes() };
  } finally {
    started?.kill('SIGKILL');
    model.close();
    record?.close();
    server?.close();
  }
}

/** How a client has given up its call of bash. */
function givenUp(notes) {
  const call = notes.findLast(({ from, message }) => from === 'client' && message?.method === 'tools/call');
  const later = notes.slice(notes.indexOf(call));
  const cancel = later.find(({ message }) => message?.method === 'notifications/cancelled');
  if (cancel) {
    assert.equal(cancel.message.params.requestId, call.message.id);
    return 'sends `notifications/cancelled`';
  }
  return call.headers ? (later.some(({ ended, method }) => ended && method === 'POST') ? 'closes the connection of the request' : 'sends nothing') : 'ends the server';
}

const KINDS = {
  main: (name, transport) => session(name, transport, STEPS, { callMs: 150_000 }),
  long: (name, transport) => session(name, transport, LONG, {
    callMs: 150_000, elicit: /^Cl|^Co/.test(name) && { action: 'accept', content: { colour: 'red' } },
    async after(turn, cells) {
      const ended = await gone(turn.mark.canceled).then(() => true, () => false);
      cells['Interruption of a call (SIGINT; Escape at a terminal)'] = `${givenUp(turn.notes())}${ended ? '' : '; the command runs on'}`;
    },
  }),
  cut: (name, transport) => session(name, transport, {
    'Call that takes longer than the client waits': async function* (t) {
      const result = yield* t.call('bash', { command: `sleep ${t.mark.cut}`, timeout: 290 });
      if (taskOf(t, result)) {
        const { at } = t.notes().findLast(({ message }) => message?.method === 'tools/call');
        await until(20_000, 'the client looks at the task', () => t.notes().some((note) => note.message?.method === 'tasks/get' && note.at > at + CUT_MS));
        assert.equal(running(t.mark.cut).length, 1, 'the command runs on');
        yield* stopped(t, result, t.mark.cut);
        return 'is no such call: it is a task by then, for which it waits on';
      }
      await gone(t.mark.cut);
      return `${givenUp(t.notes())}; \`${t.plain(result.text).replace(/\d+(\.\d+)? ?(ms|s|seconds)\b/g, 'N $2').replaceAll('\n', '⏎').slice(0, 300)}\``;
    },
  }, { callMs: CUT_MS }),
  tasks: (name, transport) => session(name, transport, TASKS),
  own: (name) => session(name, 'stdio', { 'Call of 90 s, without `timeout` in its file': async function* (t) {
    const result = yield* t.rest(outcome(t, 'bash', { command: 'sleep 90.5 && echo slept', timeout: 120 }));
    return result.text.includes('slept') ? 'waits' : `${givenUp(t.notes())}; \`${t.plain(result.text).replace(/\d+\.\d+ seconds/g, 'N seconds').replaceAll('\n', '⏎').slice(0, 300)}\``;
  } }),
};

/** Lets few processes at a time do something, besides those that wait for a long call. */
class Slots {
  #free = 3;
  #waiting = [];

  async take() {
    if (this.#free > 0) this.#free--;
    else await new Promise((done) => this.#waiting.push(done));
  }

  give() {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free++;
  }
}
const slots = new Slots();

/** Runs functions, some at a time. */
async function pool(size, jobs) {
  const left = [...jobs];
  await Promise.all(Array.from({ length: size }, async () => { for (let job; (job = left.shift());) await job(); }));
}

const wanted = (...words) => !only || words.join(' ').includes(only);
const results = []; // {name, transport, kind, cells, notes}
let failed = 0;
const job = (kind, name, transport) => async () => {
  await slots.take();
  const begun = Date.now();
  try {
    results.push({ kind, name, transport, ...await KINDS[kind](name, transport) });
    console.log(`${name} over ${transport} (${kind}): ok, ${Math.round((Date.now() - begun) / 1000)} s`);
  } catch (error) {
    failed++;
    console.log(`${name} over ${transport} (${kind}): FAILED: ${error.stack}`);
  } finally {
    slots.give();
  }
};
const jobs = (kind, transports) => Object.keys(CLIENTS).flatMap((name) => transports.filter((transport) => wanted(name, transport, kind) && (kind !== 'tasks' || CLIENTS[name].tasks)).map((transport) => job(kind, name, transport)));
const BOTH = ['stdio', 'HTTP'];
await Promise.all([
  pool(10, [...jobs('long', BOTH), ...jobs('own', ['stdio'])]), // which mostly wait
  pool(3, [...jobs('main', BOTH), ...jobs('cut', BOTH), ...jobs('tasks', BOTH)]),
]);
const file = join(import.meta.dirname, '../../../docs/clients/behaviour.md');
if (!failed && !only) {
  const now = page(Object.entries(CLIENTS).map(([name, { version, lasts }]) => ({ name, version, lasts, results: results.filter((r) => r.name === name) })));
  if (update) writeFileSync(file, now);
  else {
    const [old, fresh] = [readFileSync(file, 'utf8'), now].map((text) => text.split('\n'));
    const differences = [...old.filter((line) => !fresh.includes(line)).map((line) => `- ${line}`), ...fresh.filter((line) => !old.includes(line)).map((line) => `+ ${line}`)];
    if (old.join('\n') !== now) { failed++; console.log(['docs/clients/behaviour.md is not what the clients do: node test/clients/turns/main.mjs TOOLSERVER --update', ...differences].join('\n')); }
  }
} else for (const { cells, notes, name, transport, kind } of results) console.log(name, transport, kind, JSON.stringify({ ...cells, ...(kind === 'main' && sent(notes)) }, null, 1));
console.log(`${results.length} passed, ${failed} failed`);
process.exit(failed || !results.length ? 1 : 0);
