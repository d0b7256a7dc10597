// Two Claude Code and one Codex work on one server, while its configuration is reloaded and a server behind it is killed. The
// Claude Code that takes tasks has its commands run as tasks:
//
//   node together.mjs TOOLSERVER [MINUTES]
//
// Their models are scripts, which check what each call has brought. Nothing may be wrong, lost, or done twice.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { until, within } from './spawn.mjs';
import { CLIENTS } from './turns/clients.mjs';
import { startModel } from './turns/model.mjs';
import { alone, launch, leaveNothing, principal, serve, writeConfig } from './turns/start.mjs';
import { outcome } from './turns/steps.mjs';

const EVERY_MS = { call: 500, reload: 20_000, kill: 7_000 };
const TRIES = 10; // of a call of the other server, which may just have been killed

await alone();
const toolserver = realpathSync(process.argv[2]);
const minutes = Number(process.argv[3] ?? 1);
assert.ok(minutes > 0, `minutes: ${process.argv[3]}`);
const base = mkdtempSync('/var/tmp/together-');
leaveNothing(base);
const [work, state, log, config] = ['work', 'state', 'log', 'config.yaml'].map((part) => join(base, part));
mkdirSync(work);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const people = { ann: principal('ann'), ben: principal('ben') };
/** Writes the configuration; every other one has a tool more. Claude Code shows new tools within a turn, and does not take any away. */
function configure(odd) {
  writeConfig(config, {
    working_directory: work, state_directory: state, discovery: 'all', logging: { file: log },
    server: { tokens: Object.values(people).map(({ entry }) => entry) },
    tools: { disk_info: { enabled: odd } },
    mcp_servers: { up: { command: process.execPath, args: [join(import.meta.dirname, 'turns/upstream.mjs'), base] } },
  });
}
configure(false);
// What the other server offers is known then; Codex keeps the list that it gets first.
execFileSync(toolserver, ['upstream', 'list', '--config', config], { stdio: 'ignore', timeout: 60_000 });

/** The processes of the other server. */
const upstreams = () => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).map(Number).filter((pid) => {
  try { return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(1).join(' ').includes(`upstream.mjs ${base}`); } catch { return false; }
});

const end = Date.now() + minutes * 60_000;
const counts = { calls: 0, tasks: 0, failed: 0, reloads: 0, kills: 0 };
const instances = new Set();
const NEEDED = ['echo', 'read_file', 'append_file', 'bash', 'up__identify'];

/** What a model does: calls of all kinds until the time is over, each with a text that is nobody else's. */
async function* script(who, client, seen, { tools }) {
  const shown = (all, tool) => all.some(({ name, space }) => name === client.name(tool) && space === client.space);
  for (let waited = 0; waited < 30 && !shown(tools, 'echo'); waited++) ({ tools } = yield client.pause); // it has not connected yet
  const turn = {
    client,
    * ask(what) {
      const { tools: now, result, notified } = yield what;
      for (const needed of NEEDED) assert.ok(shown(now, needed), `the model of ${who} is not shown ${needed} any more`);
      seen.lists.add(shown(now, 'disk_info'));
      turn.notified = notified;
      return result;
    },
    * call(tool, input) { return yield* turn.ask({ name: client.name(tool), space: client.space, input }); },
  };
  const call = async function* (tool, input) {
    await pause(EVERY_MS.call);
    counts.calls++;
    const { text, task } = yield* outcome(turn, tool, input);
    if (task) counts.tasks++;
    return text;
  };
  const right = async function* (tool, input, expected) {
    const text = yield* call(tool, input);
    assert.ok(text.includes(expected), `${who}: ${tool} has brought ${JSON.stringify(text.slice(0, 500))}, not ${expected}`);
    return text;
  };
  for (let n = 0; Date.now() < end; n++) {
    const mine = `${who}-${n}-${Math.random().toString(36).slice(2)}`;
    yield* right('echo', { message: mine }, `Echo: ${mine}`);
    yield* right('append_file', { path: `${who}.txt`, content: `${mine}\n` }, `${who}.txt`);
    seen.lines.push(mine);
    assert.ok((yield* call('read_file', { path: `${who}.txt` })).includes(mine), `${who}: read_file does not have the line ${mine}`);
    yield* right('bash', { command: `cat ${who}.txt | tail -1`, ...(client.tasks && { background: true }) }, mine);
    for (let tries = 1; ; tries++) {
      const text = yield* call('up__identify', { message: mine });
      const instance = text.match(new RegExp(`${mine} of ([0-9a-f-]{36})`))?.[1];
      if (instance) { instances.add(instance); break; }
      // A call that was running when its server was killed cannot be repeated for the model, which is told so.
      counts.failed++;
      assert.match(text, /server up failed during the call: .*effect is unknown/s, `${who}: up__identify has brought ${JSON.stringify(text.slice(0, 500))}`);
      seen.failures.add(text.match(/up__identify: [^(]*/)[0]);
      assert.ok(tries < TRIES, `${who}: up__identify fails again and again: ${text.slice(0, 500)}`);
    }
  }
  seen.whole = true;
}

/** Changes something again and again until the time is over, not in step with anything. */
async function again(ms, change) {
  for (let n = 1; Date.now() + 1.5 * ms < end; n++) {
    await pause(ms * (0.5 + Math.random()));
    await change(n);
  }
}

const reloads = () => readFileSync(log, 'utf8').split('configuration reloaded').length;
const server = await serve(toolserver, config);
const clients = [];
let failed = 0;
try {
  const work = { 'claude-1': ['Claude Code', 'ann'], 'claude-2': ['Claude Code at a terminal', 'ann'], codex: ['Codex', 'ben'] };
  const turns = Object.entries(work).map(async ([who, [name, person]]) => {
    const client = CLIENTS[name];
    const seen = { who, lines: [], lists: new Set(), failures: new Set(), whole: false };
    clients.push(seen);
    writeFileSync(join(base, 'work', `${who}.txt`), '');
    const model = await startModel(client.wire, (request) => script(who, client, seen, request));
    const [home, place] = [join(base, `${who}-home`), join(base, `${who}-work`)];
    for (const directory of [home, place]) mkdirSync(directory);
    const { child, said, ended } = launch(client.prepare({ home, work: place, model: model.url, entry: { url: server.url, token: people[person].token }, callMs: 60_000 }), home, client.lasts);
    try {
      const over = client.lasts ? until(end - Date.now() + 60_000, who, () => model.over) : ended;
      const code = await within(end - Date.now() + 60_000, who, Promise.race([ended, over]));
      if (model.failure) throw model.failure;
      assert.ok(seen.whole, `${who} has ended (${code}) before its time; it said: ${said()}`);
    } finally {
      child.kill('SIGKILL');
      model.close();
    }
  });
  const changes = [
    again(EVERY_MS.reload, async (n) => {
      const before = reloads();
      configure(n % 2 === 1);
      await until(20_000, 'the configuration is reloaded', () => reloads() > before);
      counts.reloads++;
    }),
    again(EVERY_MS.kill, async () => {
      for (const pid of upstreams()) { process.kill(pid, 'SIGKILL'); counts.kills++; }
    }),
  ];
  for (const outcome of await Promise.allSettled([...turns, ...changes])) {
    if (outcome.status === 'rejected') { failed++; console.log(outcome.reason.stack); }
  }
  assert.ok(minutes < 0.5 || counts.tasks > 0, 'calls have become tasks');
  assert.ok(server.running(), 'the server still runs');
  for (const { who, lines } of clients) {
    assert.deepEqual(readFileSync(join(base, 'work', `${who}.txt`), 'utf8').split('\n').slice(0, -1), lines, `the lines of ${who}, each once and in their order`);
  }
  assert.doesNotMatch(readFileSync(log, 'utf8'), /panic/);
  if (counts.reloads > 0) for (const { who, lists } of clients) if (who !== 'codex') assert.equal(lists.size, 2, `${who} has seen the list change`);
  assert.ok(minutes < 0.5 || (counts.kills > 0 && instances.size > 1), `the other server was killed ${counts.kills} times, and ${instances.size} of it were seen`);
  assert.equal(await within(20_000, 'the server stops', server.close()), 0);
  await until(10_000, 'the other server has ended', () => upstreams().length === 0);
} finally {
  server.close();
}
for (const text of new Set(clients.flatMap(({ failures }) => [...failures]))) console.log(`while the other server was killed: ${text}`);
console.log(`together: ${clients.map(({ who, lines }) => `${who} ${lines.length} rounds`).join(', ')}; ${counts.calls} calls, ${counts.tasks} of them tasks, ${counts.failed} of them to a server that was killed, ${counts.reloads} reloads, ${counts.kills} kills, ${instances.size} servers seen`);
process.exit(failed ? 1 : 0);
