// Drives several replicas of one server behind a balancer that gives each request to the next one:
//
//   node replicas.mjs TOOLSERVER [--only TEXT]
//
// With the SDKs as they are, nginx, haproxy and redis-server. Ends with a line "N passed, N failed" and status 1 if something failed.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHTTP, request as sendHTTP } from 'node:http';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';

import { textOf } from './expect.mjs';
import { Report } from './report.mjs';
import { Tail, endAll, freePort, start, until } from './spawn.mjs';
import { connectV1 } from './v1.mjs';
import { connectV2 } from './v2.mjs';
import { World } from './world.mjs';

const { positionals: [program], values: { only } } = parseArgs({ allowPositionals: true, strict: false, options: { only: { type: 'string' } } });
const binary = resolve(program);
const report = new Report();
const MODERN = '2026-07-28';
const TASKS = 'io.modelcontextprotocol/tasks';

// launch starts a program, and returns it with what it says; stop ends it and waits for that.
function launch(command, args, options = {}) {
  const child = start(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const out = new Tail(child.stdout, 100_000);
  const errors = new Tail(child.stderr, 100_000);
  const exited = once(child, 'exit');
  exited.catch(() => {});
  return { child, exited, said: () => out.text + errors.text, stop: async (signal = 'SIGTERM') => { child.kill(signal); await exited; } };
}

async function redis(port) {
  const store = launch('redis-server', ['--port', port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']);
  await until(10_000, 'redis listens', () => store.said().includes('Ready to accept connections'));
  return store;
}

// command has the store on a port execute one, and returns what it answers.
async function command(port, ...args) {
  const client = launch('redis-cli', ['-p', port, ...args]);
  await client.exited;
  return client.said();
}

// slowly passes what is said to a port on after a while, which can be changed. It does so in a thread of its own: this one is busy with clients.
async function slowly(port) {
  const link = new Worker(new URL('link.mjs', import.meta.url), { workerData: port });
  const [at] = await once(link, 'message');
  return { port: at, wait: (ms) => link.postMessage(ms), stop: () => link.terminate() };
}

// balancers start one in front of ports, each request to the next of them.
const balancers = {
  async nginx(dir, port, ports) {
    const servers = ports.map((p) => `server 127.0.0.1:${p} max_fails=0;`).join(' ');
    await writeFile(join(dir, 'nginx.conf'), `daemon off; master_process off; error_log stderr warn; pid ${dir}/nginx.pid; events {}
      http { access_log off; client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
      upstream replicas { ${servers} keepalive 32; }
      server { listen 127.0.0.1:${port}; client_max_body_size 0; location / { proxy_pass http://replicas; proxy_http_version 1.1; proxy_set_header Connection "";
        proxy_set_header Host $http_host; proxy_buffering off; proxy_request_buffering off; proxy_read_timeout 1h; proxy_next_upstream error timeout non_idempotent; } } }`);
    return launch('nginx', ['-c', join(dir, 'nginx.conf'), '-e', 'stderr']);
  },
  async haproxy(dir, port, ports) {
    const servers = ports.map((p, i) => `  server r${i} 127.0.0.1:${p} check inter 200 fall 1 rise 1`).join('\n');
    await writeFile(join(dir, 'haproxy.cfg'), `global
  maxconn 1000
defaults
  mode http
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout tunnel 1h
  retries 3
  retry-on conn-failure empty-response
  option redispatch 1
  http-reuse safe
frontend f
  bind 127.0.0.1:${port}
  default_backend mcp
backend mcp
  balance roundrobin
  option httpchk GET /readyz
${servers}
`);
    return launch('haproxy', ['-f', join(dir, 'haproxy.cfg'), '-db']);
  },
};

// Cluster is replicas with the same keys, perhaps a store, and a balancer.
class Cluster {
  static async start(balancer, count, { store, front, settings = {} } = {}) {
    const c = new Cluster();
    c.world = await World.create();
    await writeFile(c.world.path('../k1.key'), 'a'.repeat(64));
    await writeFile(c.world.path('../k2.key'), 'b'.repeat(64));
    c.settings = (keys) => ({
      server: { keys: keys.map((id) => ({ id, file: join(c.world.root, `${id}.key`) })), drain_delay: '500ms', ...settings.server },
      ...(store ? { store: { url: `redis://127.0.0.1:${store}`, on_failure: settings.on_failure ?? 'local' } } : {}),
      limits: { max_result_chars: 20_000, ...settings.limits },
      tools: { write_file: { confirm: true }, bash: { allowed_commands: ['*'] } },
      ...settings.more,
    });
    await c.world.configure(c.settings(['k1']));
    c.ports = [];
    c.replicas = [];
    for (let i = 0; i < count; i++) {
      c.ports.push(await freePort());
      await c.serve(i);
    }
    c.port = front ?? await freePort();
    c.front = await balancers[balancer](c.world.root, c.port, c.ports);
    c.url = `http://127.0.0.1:${c.port}/mcp`;
    await until(10_000, `${balancer} answers: ${c.front.said()}`, () => fetch(`http://127.0.0.1:${c.port}/livez`).then(({ ok }) => ok, () => false));
    return c;
  }

  // serve starts a replica, or starts it again.
  async serve(i) {
    const state = join(this.world.root, `state${i}`);
    await mkdir(state, { recursive: true });
    const args = ['serve', '--insecure-no-auth', '--http', `127.0.0.1:${this.ports[i]}`, '--config', this.world.config];
    this.replicas[i] = launch(binary, args, { cwd: this.world.work, env: { ...this.world.env, XDG_STATE_HOME: state } });
    await until(10_000, `replica ${i} is ready: ${this.replicas[i].said()}`, () => fetch(`http://127.0.0.1:${this.ports[i]}/readyz`).then(({ ok }) => ok, () => false));
  }

  log() { return this.replicas.map((r, i) => `replica ${i}:\n${r.said().slice(-1500)}`).join('\n'); }

  async stop() {
    await this.front.stop('SIGKILL');
    await Promise.all(this.replicas.map((r) => r.stop()));
    await this.world.remove();
  }
}

const yes = { asked: 0, answer() { this.asked++; return { action: 'accept', content: {} }; } };
const clients = {
  'v1': (url, person) => connectV1({ transport: 'http', url, person }),
  'v2 legacy': (url, person) => connectV2('legacy', { transport: 'http', url, person }),
  'v2 modern': (url, person) => connectV2('pinned', { transport: 'http', url, person }),
};

// send sends one request of the modern version to a URL and returns its answer.
let requests = 0;
async function send(url, method, params, capabilities = { extensions: { [TASKS]: {} }, elicitation: { form: {} } }) {
  const message = {
    jsonrpc: '2.0', id: ++requests, method,
    params: { ...params, _meta: { 'io.modelcontextprotocol/protocolVersion': MODERN, 'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': capabilities } },
  };
  const response = await fetch(url, {
    method: 'POST', body: JSON.stringify(message),
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': MODERN, 'mcp-method': method, ...(params.name ?? params.taskId ? { 'mcp-name': params.name ?? params.taskId } : {}) },
  });
  const text = await response.text();
  const events = text.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
  return JSON.parse(events.at(-1) ?? text);
}

// listen opens a stream of changes; ended is all of it.
async function listen(url) {
  const framing = { 'io.modelcontextprotocol/protocolVersion': MODERN, 'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} };
  const response = await fetch(url, {
    method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 'listens', method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true }, _meta: framing } }),
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': MODERN, 'mcp-method': 'subscriptions/listen' },
  });
  return { ended: response.text() };
}

const says = async (session, name, args) => {
  const { result, error } = await session.call(name, args);
  assert.ok(result, `${name} ${JSON.stringify(args)}: ${JSON.stringify(error)}`);
  return textOf(result);
};

// use does with one client what people do, behind a balancer.
async function use(group, c, label, { store }) {
  const open = clients[label];
  await group.test(`${label}: connects, lists and calls`, async () => {
    const session = await open(c.url);
    assert.ok((await session.list()).length > 10);
    for (let i = 0; i < 20; i++) assert.match(await says(session, 'bash', { command: `echo n${i}` }), new RegExp(`n${i}`));
    assert.deepEqual(session.problems, []);
    await session.close();
  });
  if (store || label === 'v2 modern') {
    await group.test(`${label}: a person confirms`, async () => {
      const person = { ...yes };
      const session = await open(c.url, person);
      for (let i = 0; i < 10; i++) assert.match(await says(session, 'write_file', { path: `${label.replace(' ', '')}${i}.txt`, content: `${i}` }), /wrote|created|writ/i);
      assert.equal(person.asked, 10);
      await session.close();
    });
  }
  await group.test(`${label}: reads a long result`, async () => {
    const session = await open(c.url);
    const first = await says(session, 'bash', { command: 'seq 1 60000' });
    const id = /read_large_result\(id="(lr_[a-z0-9]+)"/.exec(first)?.[1];
    assert.ok(id, first.slice(-300));
    let whole = '';
    let refused = 0;
    for (let page = 1, pages = 1; page <= pages;) {
      const { result } = await session.call('read_large_result', { id, page });
      const text = textOf(result);
      if (result.isError) {
        assert.ok(!store, text);
        assert.match(text, /another replica of this server has it, and they share no store/);
        if (++refused > 50) throw new Error('no replica has it');
        continue;
      }
      pages = Number(/\[Page \d+ of (\d+)/.exec(text)[1]);
      whole += result.content[0].text;
      page++;
    }
    assert.equal(whole.trim().split('\n').length, 60000);
    await session.close();
  });
  if (!store) return;
  await group.test(`${label}: jobs of all replicas`, async () => {
    const session = await open(c.url);
    const started = [];
    for (let i = 0; i < c.ports.length + 1; i++) {
      const said = await says(session, 'bash', { command: `echo begun ${i}; sleep ${i === 0 ? 300 : 0.3}; echo done ${i}`, background: true });
      started.push(/job ([a-z0-9-]+) started/.exec(said)[1]);
    }
    for (let round = 0; round < c.ports.length; round++) {
      const listed = await says(session, 'bash_jobs', { action: 'list' });
      for (const job of started) assert.ok(listed.includes(job), `${job} is not in ${listed}`);
      for (const [i, job] of started.entries()) {
        const look = () => says(session, 'bash_jobs', { action: 'read', job, ...(i && { wait: 5 }) });
        const read = await until(10_000, `job ${i} says that it has begun`, async () => { const text = await look(); return text.includes(`begun ${i}`) && text; });
        if (i) assert.match(read, new RegExp(`done ${i}[^]*ended with exit code 0`));
      }
    }
    for (let round = 0; round < c.ports.length; round++) assert.match(await says(session, 'bash_jobs', { action: 'stop', job: started[0] }), /stopped/);
    await session.close();
  });
  await group.test(`${label}: hears of a document that changes`, async () => {
    const session = await open(c.url);
    await c.world.write('watched.txt', 'one');
    const { result, error } = await session.watch(`file://${c.world.path('watched.txt')}`);
    assert.ok(result?.granted, JSON.stringify(error ?? result));
    let n = 0;
    await until(15_000, 'a change is heard', async () => {
      await c.world.write('watched.txt', `two ${n++}`);
      await new Promise((done) => setTimeout(done, 200));
      return session.updates.length > 0;
    });
    await result.stop();
    await session.close();
  });
}

async function tasks(group, c) {
  await group.test('tasks: made, followed, cancelled and answered at any replica', async () => {
    const begun = async (command) => {
      const { result, error } = await send(c.url, 'tools/call', { name: 'bash', arguments: { command, background: true } });
      assert.equal(result?.resultType, 'task', JSON.stringify(result ?? error));
      return result.taskId;
    };
    const id = await begun('sleep 1; echo finished');
    const seen = new Set();
    const done = await until(20_000, 'the task ends', async () => {
      const { result, error } = await send(c.url, 'tasks/get', { taskId: id });
      assert.ok(result, JSON.stringify(error));
      seen.add(result.status);
      return result.status === 'completed' && result;
    });
    assert.match(JSON.stringify(done.result), /finished/);
    for (let i = 0; i < c.ports.length; i++) assert.equal((await send(c.url, 'tasks/get', { taskId: id })).result.status, 'completed');
    for (let i = 0; i < c.ports.length + 1; i++) {
      const long = await begun('sleep 300');
      for (let k = 0; k < i; k++) await send(c.url, 'tasks/get', { taskId: long });
      const cancelled = await send(c.url, 'tasks/cancel', { taskId: long });
      assert.ok(cancelled.result, JSON.stringify(cancelled));
      await until(5_000, 'it is cancelled everywhere', async () => (await send(c.url, 'tasks/get', { taskId: long })).result?.status === 'cancelled');
    }
    const { error } = await send(c.url, 'tasks/get', { taskId: `${id.slice(0, 13)}${'a'.repeat(26)}` });
    assert.match(error.message, /there is no such task/);
  });
}

const groups = [];
const group = (name, run) => groups.push([name, run]);

for (const [balancer, count] of [['nginx', 2], ['haproxy', 3]]) {
  group(`${balancer}, ${count} replicas with keys`, async (g) => {
    const c = await Cluster.start(balancer, count);
    g.diagnose = () => c.log();
    for (const label of Object.keys(clients)) await use(g, c, label, { store: false });
    await c.stop();
  });
  group(`${balancer}, ${count} replicas with keys and a store`, async (g) => {
    const port = await freePort();
    const store = await redis(port);
    const c = await Cluster.start(balancer, count, { store: port });
    g.diagnose = () => c.log();
    for (const label of Object.keys(clients)) await use(g, c, label, { store: true });
    await tasks(g, c);
    await c.stop();
    await store.stop();
  });
}

group('a replica is killed, and replicas are replaced, under load', async (g) => {
  const port = await freePort();
  const store = await redis(port);
  const c = await Cluster.start('haproxy', 3, { store: port });
  g.diagnose = () => c.log();
  await g.test('all calls are answered', async () => {
    const sessions = await Promise.all(Object.values(clients).map((open) => open(c.url)));
    let calls = 0;
    const lost = [];
    let on = true;
    const load = sessions.map(async (session, k) => {
      for (let i = 0; on; i++) {
        const { result, error } = await session.call('read_file', { path: 'notes.txt' }).catch((e) => ({ error: e }));
        calls++;
        if (!result || !textOf(result).includes('alpha')) lost.push(`${k}/${i}: ${JSON.stringify(error ?? result).slice(0, 300)}`);
      }
    });
    await new Promise((done) => setTimeout(done, 500));
    for (const i of [0, 1, 2]) { // one after the other, as a rollout does
      await c.replicas[i].stop();
      await c.serve(i);
      await new Promise((done) => setTimeout(done, 800));
    }
    assert.deepEqual(lost, [], `lost while ${calls} calls were made`);
    await c.replicas[1].stop('SIGKILL');
    await new Promise((done) => setTimeout(done, 1500));
    await c.serve(1);
    await new Promise((done) => setTimeout(done, 800));
    on = false;
    await Promise.all(load);
    // What was under way at the replica when it was killed is lost, and said to be: one call of each client at most.
    assert.ok(lost.length <= sessions.length, lost.join('\n'));
    assert.ok(calls > 100, `${calls} calls`);
    console.log(`     ${calls} calls, ${lost.length} of them at the replica that was killed`);
    await Promise.all(sessions.map((s) => s.close()));
  });
  await g.test('a task and a job of a replica that is killed have failed, and none runs again', async () => {
    const session = await clients['v2 modern'](c.url);
    const mark = c.world.path('ran.txt');
    const where = [];
    const running = [];
    for (let i = 0; i < 3; i++) {
      const { result } = await send(c.url, 'tools/call', { name: 'bash', arguments: { command: `echo ${i} >> ran.txt; sleep 300`, background: true } });
      running.push(result.taskId);
      where.push(/job ([a-z0-9-]+) started/.exec(await says(session, 'bash', { command: `echo j${i} >> ran.txt; sleep 300`, background: true }))[1]);
    }
    await until(10_000, 'all have begun', async () => (await readFile(mark, 'utf8')).trim().split('\n').length === 6);
    await c.replicas[2].stop('SIGKILL');
    await until(30_000, 'what it ran has failed', async () => {
      const states = [];
      for (const id of running) states.push((await send(c.url, 'tasks/get', { taskId: id })).result?.status);
      const listed = await says(session, 'bash_jobs', { action: 'list' });
      return states.filter((s) => s === 'failed').length > 0 && states.every((s) => s === 'failed' || s === 'working') && /whether it had an effect is unknown/.test(listed) && where.every((j) => listed.includes(j));
    });
    for (const id of running) {
      const { result } = await send(c.url, 'tasks/get', { taskId: id });
      if (result.status === 'failed') assert.match(result.statusMessage, /whether it had an effect is unknown/);
      else await send(c.url, 'tasks/cancel', { taskId: id });
    }
    assert.equal((await readFile(mark, 'utf8')).trim().split('\n').length, 6);
    await session.close();
    await c.serve(2);
  });
  await c.stop();
  await store.stop();
});

group('the store goes away', async (g) => {
  for (const policy of ['local', 'refuse']) {
    const port = await freePort();
    let store = await redis(port);
    const link = await slowly(port);
    const c = await Cluster.start('nginx', 2, { store: link.port, settings: { on_failure: policy, limits: { rate_per_minute: 600 } } });
    g.diagnose = () => c.log();
    await g.test(`${policy}: 600 calls a minute are 600 at two replicas`, async () => {
      const session = await clients['v2 modern'](c.url);
      let admitted = 0;
      const began = Date.now();
      for (let i = 0; i < 1000; i += 20) {
        const answers = await Promise.all(Array.from({ length: 20 }, () => session.call('read_file', { path: 'notes.txt' })));
        for (const { result, error } of answers) {
          if (result) admitted++;
          else assert.match(error.message, /over 600 calls a minute; try again in/);
        }
      }
      const allowed = 600 + (Date.now() - began) / 100;
      assert.ok(admitted >= allowed * 0.95 && admitted <= allowed * 1.05, `${admitted} admitted of ${allowed}`);
      await session.close();
    });
    const each = async (session, n) => {
      const answers = [];
      for (let i = 0; i < n; i++) answers.push(await session.call('read_file', { path: 'notes.txt' }));
      return answers;
    };
    const judge = (answers, what) => {
      const good = answers.filter(({ result }) => result).length;
      const said = answers.filter(({ error }) => error && /cannot be reached at the moment|over 600 calls a minute|over 300/.test(error.message)).length;
      assert.equal(good + said, answers.length, `${what}: ${JSON.stringify(answers.find(({ result, error }) => !result && !/cannot be reached|over/.test(error.message)))}`);
      return good;
    };
    await g.test(`${policy}: the store is slow by 500 ms, is killed and comes back empty`, async () => {
      await new Promise((done) => setTimeout(done, 3000)); // for some of the rate
      const session = await clients['v2 modern'](c.url);
      link.wait(500);
      let began = Date.now();
      judge(await each(session, 20), 'slow');
      assert.ok(Date.now() - began < 4_000, `20 calls took ${Date.now() - began} ms`);
      link.wait(0);
      await until(10_000, 'it is reached again', () => c.replicas.every((r) => !/share cannot be reached/.test(r.said()) || /can be reached again/.test(r.said())));
      await store.stop('SIGKILL');
      began = Date.now();
      const without = judge(await each(session, 20), 'without');
      assert.ok(Date.now() - began < 4_000, `20 calls took ${Date.now() - began} ms`);
      if (policy === 'local') assert.ok(without > 0, 'none was answered');
      store = await redis(port);
      await until(10_000, 'it is reached again', async () => judge(await each(session, 2), 'back') === 2);
      await session.close();
    });
    await c.stop();
    await link.stop();
    await store.stop();
  }
});

group('the store is not all theirs, and is emptied', async (g) => {
  const port = await freePort();
  const store = await redis(port);
  const rights = /needs `([^`]+)` on `([^`]+)` and `([^`]+)`/.exec(await readFile(new URL('../../docs/scale.md', import.meta.url), 'utf8')).slice(1).join(' ').split(' ');
  const user = (...more) => command(port, 'acl', 'setuser', 'toolserver', 'reset', 'on', '>pw', ...rights, ...more);
  await user();
  const more = { store: { url: `redis://toolserver:pw@127.0.0.1:${port}/1` }, limits: { rate_per_minute: 6000 } };
  const c = await Cluster.start('nginx', 2, { store: port, settings: { more } });
  const other = await Cluster.start('nginx', 1, { store: port, settings: { server: { keys: [{ id: 'k2', file: join(c.world.root, 'k2.key') }] } } });
  g.diagnose = () => c.log();
  const at = (i) => `http://127.0.0.1:${c.ports[i]}/mcp`;
  await g.test('the rights that docs/scale.md names are enough, and what is missing is said', async () => {
    for (let i = 0; i < 10; i++) assert.ok((await send(c.url, 'tools/call', { name: 'read_file', arguments: { path: 'notes.txt' } })).result);
    assert.doesNotMatch(await command(port, 'acl', 'log'), /\n(?!cluster)[a-z:|-]+\nusername\ntoolserver/);
    const check = async () => { const run = launch(binary, ['check', '--config', c.world.config], { cwd: c.world.work, env: c.world.env }); await run.exited; return run.said(); };
    assert.match(await check(), /ok +store /);
    await user('-time');
    assert.match(await check(), /fail +store .*can't run this command/);
    await user();
  });
  await g.test('another endpoint in another database keeps nobody waiting', async () => {
    const began = Date.now();
    const session = await clients.v1(c.url);
    for (let i = 0; i < 4; i++) assert.match(await says(session, 'read_file', { path: 'notes.txt' }), /alpha/);
    assert.ok(Date.now() - began < 900, `it took ${Date.now() - began} ms`);
    await session.close();
  });
  await g.test('a job that runs is known again after the store was emptied', async () => {
    const begun = await send(at(0), 'tools/call', { name: 'bash', arguments: { command: 'sleep 300', background: true } }, {});
    const job = /job ([a-z0-9-]+) started/.exec(textOf(begun.result))[1];
    await command(port, 'flushall');
    await until(10_000, 'it is listed', async () => textOf((await send(at(1), 'tools/call', { name: 'bash_jobs', arguments: { action: 'list' } }, {})).result).includes(job));
    assert.match(textOf((await send(at(1), 'tools/call', { name: 'bash_jobs', arguments: { action: 'stop', job } }, {})).result), /stopped/);
  });
  await g.test('one that may not be written to is said once to be out of reach', async () => {
    const before = c.replicas.map((r) => r.said().length);
    await command(port, 'replicaof', '127.0.0.1', '1');
    for (let i = 0; i < 30; i++) {
      assert.ok((await send(c.url, 'tools/call', { name: 'bash', arguments: { command: 'seq 1 20000' } })).result);
      await new Promise((done) => setTimeout(done, 100));
    }
    await command(port, 'replicaof', 'no', 'one');
    const since = (i) => c.replicas[i].said().slice(before[i]);
    for (const i of [0, 1]) await until(10_000, 'it is reached again', () => /can be reached again/.test(since(i)));
    for (const i of [0, 1]) assert.equal(since(i).split('share cannot be reached\t').length, 2, since(i));
  });
  await g.test('messages are received again once they may be', async () => {
    await user('resetchannels');
    await command(port, 'client', 'kill', 'type', 'pubsub');
    await until(10_000, 'it is said', () => c.replicas.every((r) => /messages of other replicas are not received/.test(r.said())));
    await user();
    const begun = await send(at(0), 'tools/call', { name: 'bash', arguments: { command: 'sleep 300', background: true } }, {});
    const job = /job ([a-z0-9-]+) started/.exec(textOf(begun.result))[1];
    await until(10_000, 'it is stopped', async () => /stopped/.test(textOf((await send(at(1), 'tools/call', { name: 'bash_jobs', arguments: { action: 'stop', job } }, {})).result)));
  });
  await g.test('a replica that does not answer is said not to', async () => {
    const { result: { taskId } } = await send(at(0), 'tools/call', { name: 'bash', arguments: { command: 'sleep 300', background: true } });
    c.replicas[0].child.kill('SIGSTOP');
    const { error } = await send(at(1), 'tasks/cancel', { taskId });
    c.replicas[0].child.kill('SIGCONT');
    assert.match(error.message, /the replica of this server that goes on with the task does not answer/);
    await until(10_000, 'it is cancelled', async () => (await send(at(1), 'tasks/get', { taskId })).result.status === 'cancelled');
  });
  await g.test('long answers of a client do not end the connections of replicas', async () => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const post = (url, message) => fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
    const begun = await post(at(0), { id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: { sampling: {} }, clientInfo: { name: 'raw', version: '1' } } });
    headers['mcp-session-id'] = begun.headers.get('mcp-session-id');
    await begun.text();
    await Promise.all([0, 1].map((i) => post(at(i), { id: 'none', result: { text: 'x'.repeat(30_000_000) } })));
    await command(port, 'ping');
    assert.doesNotMatch(store.said(), /overcoming of output buffer limits/);
  });
  await other.stop();
  await c.stop();
  await store.stop();
});

group('keys are changed', async (g) => {
  const c = await Cluster.start('nginx', 2);
  g.diagnose = () => c.log();
  await g.test('states and sessions of the old key are good until it is taken away', async () => {
    const old = await clients.v1(c.url);
    const args = { name: 'write_file', arguments: { path: 'keys.txt', content: 'x' } };
    const asks = async () => (await send(c.url, 'tools/call', args)).result;
    const answer = (state) => send(c.url, 'tools/call', { ...args, inputResponses: { confirm: { action: 'accept' } }, requestState: state });
    const [first, second, third] = [await asks(), await asks(), await asks()];
    const use = async (keys) => {
      const before = c.replicas.map((r) => r.said().split('configuration reloaded').length);
      await c.world.configure(c.settings(keys));
      await until(10_000, 'both have the new configuration', () => c.replicas.every((r, i) => r.said().split('configuration reloaded').length > before[i]));
    };
    await use(['k1', 'k2']);
    await use(['k2', 'k1']);
    assert.equal((await answer(first.requestState)).result.resultType, 'complete');
    assert.match(await says(old, 'bash', { command: 'echo still' }), /still/);
    const tampered = `${third.requestState.slice(0, -3)}AAA`;
    assert.match((await answer(tampered)).error.message, /request state is invalid/);
    await use(['k2']);
    assert.match((await answer(second.requestState)).error.message, /request state is invalid/);
    assert.match(c.log(), /give all replicas the same server.keys/);
    const fresh = await clients.v1(c.url);
    for (let i = 0; i < 6; i++) assert.match(await says(fresh, 'bash', { command: 'echo fresh' }), /fresh/);
    await fresh.close();
  });
  await c.stop();
});

// changeable is another MCP server over HTTP, whose tool can be changed.
async function changeable() {
  const offer = { description: 'Says it.' };
  const answers = {
    initialize: ({ params }) => ({ protocolVersion: params.protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'changeable', version: '1' } }),
    'tools/list': () => ({ tools: [{ name: 'say', description: offer.description, inputSchema: { type: 'object' } }] }),
    'tools/call': () => ({ content: [{ type: 'text', text: offer.description }] }),
    ping: () => ({}),
  };
  const server = createHTTP((request, response) => {
    let body = '';
    request.on('data', (chunk) => { body += chunk; }).on('end', () => {
      if (request.method !== 'POST') return response.writeHead(405).end();
      const message = JSON.parse(body);
      if (message.id === undefined) return response.writeHead(202).end();
      const answer = answers[message.method];
      const says = answer ? { result: answer(message) } : { error: { code: -32601, message: 'no such method' } };
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...says }));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(offer, { url: `http://127.0.0.1:${server.address().port}/mcp`, stop: () => server.close() });
}

group('what was approved of at one replica', async (g) => {
  const port = await freePort();
  const store = await redis(port);
  const upstream = await changeable();
  const c = await Cluster.start('nginx', 2, { store: port, settings: { more: { mcp_servers: { up: { url: upstream.url, pin: 'quarantine' } } } } });
  g.diagnose = () => c.log();
  await g.test('is offered by the other', async () => {
    const offers = (i) => send(`http://127.0.0.1:${c.ports[i]}/mcp`, 'tools/list', {}).then(({ result }) => result.tools.some((t) => t.name === 'up__say'));
    await until(20_000, 'both offer it', async () => await offers(0) && await offers(1));
    upstream.description = 'Says something else.';
    for (const i of [0, 1]) { // which find out when they begin
      await c.replicas[i].stop();
      await c.serve(i);
      await until(20_000, 'it is held back', async () => !(await offers(i)));
    }
    const approve = launch(binary, ['upstream', 'approve', 'up', '--yes', '--config', c.world.config], { cwd: c.world.work, env: { ...c.world.env, XDG_STATE_HOME: join(c.world.root, 'state0') } });
    const [code] = await approve.exited;
    assert.equal(code, 0, approve.said());
    await until(20_000, 'both offer it', async () => await offers(0) && await offers(1));
  });
  await c.stop();
  await store.stop();
  upstream.stop();
});

group('approvals', async (g) => {
  const port = await freePort();
  let store = await redis(port);
  const c = await Cluster.start('nginx', 3, { store: port, settings: { more: { approvals: { enabled: true, wait: '3s' } } } });
  g.diagnose = () => c.log();
  const write = async (content) => (await send(c.url, 'tools/call', { name: 'write_file', arguments: { path: 'a.txt', content } }, {})).result;
  const kind = ({ isError, content }) => (isError ? /^\w+/.exec(content[0].text)[0] : 'ran');
  const approve = async (state, ...args) => {
    const cli = launch(binary, ['approve', '--json', '--config', c.world.config, ...args], { cwd: c.world.work, env: { ...c.world.env, XDG_STATE_HOME: join(c.world.root, state) } });
    const [code] = await cli.exited;
    assert.equal(code, 0, cli.said());
    return JSON.parse(cli.said());
  };
  const waiting = async (content) => {
    for (;;) {
      const found = (await approve('anywhere')).approvals.find((r) => r.text.includes(content));
      if (found) return found.id;
    }
  };
  await g.test('of one that waits lets it run, and no other', async () => {
    const first = write('first');
    await approve('anywhere', await waiting('first'), '--once');
    assert.equal(kind(await first), 'ran');
    assert.equal(await readFile(c.world.path('a.txt'), 'utf8'), 'first');
  });
  await g.test('are used once by all replicas', async () => {
    const [pending] = await Promise.all([write('later')]);
    assert.match(pending.content[0].text, /has been asked to agree/);
    await approve('state1', await waiting('later'), '--once');
    const results = await Promise.all(Array.from({ length: 12 }, () => write('later')));
    assert.equal(results.filter((r) => kind(r) === 'ran').length, 1, JSON.stringify(results));
  });
  await g.test('that are refused for good are so everywhere', async () => {
    const first = write('refused');
    await approve('state2', await waiting('refused'), '--never');
    for (const r of [await first, ...await Promise.all([1, 2, 3].map(() => write('refused')))]) assert.match(r.content[0].text, /never|does not|refused/, r.content[0].text);
    await approve('state0', await waiting('refused'), '--forget');
  });
  await g.test('cannot be had without the store, and are asked for again when it is there', async () => {
    await store.stop('SIGKILL');
    const { result, error } = await send(c.url, 'tools/call', { name: 'write_file', arguments: { path: 'a.txt', content: 'lost' } }, {});
    assert.match(JSON.stringify(result ?? error), /cannot be (read|reached)/);
    store = await redis(port);
    const again = until(30_000, 'it runs', async () => kind(await write('found')) === 'ran');
    await until(30_000, 'it is asked about', async () => approve('anywhere', await waiting('found'), '--once').then(() => true, () => false));
    await again;
  });
  await c.stop();
  await store.stop();
});

group('files', async (g) => {
  const port = await freePort();
  const store = await redis(port);
  const front = await freePort();
  const c = await Cluster.start('nginx', 3, { store: port, front, settings: { server: { public_url: `http://127.0.0.1:${front}` }, more: { protocol: { experimental: true } } } });
  g.diagnose = () => c.log();
  const FILES = 'io.modelcontextprotocol/files';
  const bytes = randomBytes(6_000_000);
  await g.test('are sent to and fetched from any replica by clients', async () => {
    const call = async (params) => (await send(c.url, 'tools/call', params, { extensions: { [FILES]: { upload: {}, download: {} } } })).result;
    for (let i = 0; i < 4; i++) {
      const args = { name: 'upload_file', arguments: { path: `up${i}.bin`, file: { id: 'f', mimeType: 'application/octet-stream', size: bytes.length } } };
      const wanted = await call(args);
      assert.equal(wanted.resultType, 'upload_required', JSON.stringify(wanted));
      const [to] = wanted.uploads;
      for (let k = 0; k < i; k++) await fetch(`http://127.0.0.1:${c.port}/livez`); // so that the next request gets to each of them
      const put = await fetch(c.url + to.path, { method: to.method, body: bytes, headers: to.headers });
      assert.equal(put.status, 200, await put.text());
      const done = await call({ ...args, requestState: wanted.requestState });
      assert.equal(done.resultType, 'complete', JSON.stringify(done));
      assert.ok((await readFile(c.world.path(`up${i}.bin`))).equals(bytes));
      const offered = await call({ name: 'download_file', arguments: { path: `up${i}.bin` } });
      const [from] = offered._meta[FILES].downloads;
      for (let k = 0; k < 3; k++) assert.ok(Buffer.from(await (await fetch(c.url + from.path, { headers: from.headers })).arrayBuffer()).equals(bytes));
    }
  });
  await g.test('are put and fetched once by people', async () => {
    for (let i = 0; i < 4; i++) {
      const { result } = await send(c.url, 'tools/call', { name: 'upload_file', arguments: { path: `link${i}.bin` } }, {});
      const address = /http:\S+/.exec(textOf(result))[0];
      for (let k = 0; k < i; k++) assert.match(await (await fetch(address)).text(), /Send a file/);
      const put = await fetch(address, { method: 'PUT', body: bytes });
      assert.equal(put.status, 201, await put.text());
      assert.ok((await readFile(c.world.path(`link${i}.bin`))).equals(bytes));
      for (let k = 0; k < 3; k++) assert.equal((await fetch(address, { method: 'PUT', body: 'again' })).status, 404);
      const down = await send(c.url, 'tools/call', { name: 'download_file', arguments: { path: `link${i}.bin` } }, {});
      const from = /http:\S+/.exec(textOf(down.result))[0];
      for (let k = 0; k < i; k++) await fetch(`http://127.0.0.1:${c.port}/livez`);
      assert.ok(Buffer.from(await (await fetch(from)).arrayBuffer()).equals(bytes));
      assert.equal((await fetch(from)).status, 404);
    }
  });
  await g.test('are gone with their replica, which is said', async () => {
    const { result } = await send(c.url, 'tools/call', { name: 'upload_file', arguments: { path: 'gone.bin' } }, {});
    const address = /http:\S+/.exec(textOf(result))[0];
    for (const i of [0, 1, 2]) {
      await c.replicas[i].stop('SIGKILL');
      await c.serve(i);
    }
    const put = await fetch(address, { method: 'PUT', body: bytes });
    assert.match(await put.text(), /the replica of this server that has the file does not answer; make the call again|this address has expired or was used; ask for another one/);
  });
  await c.stop();
  await store.stop();
});

group('a replica drains', async (g) => {
  const port = await freePort();
  const store = await redis(port);
  const c = await Cluster.start('haproxy', 2, { store: port, settings: { server: { drain_delay: '1s', grace: '20s' }, more: { protocol: { experimental: true } } } });
  g.diagnose = () => c.log();
  await g.test('the balancer is told first, and nothing is lost', async () => {
    const url = `http://127.0.0.1:${c.ports[0]}/mcp`;
    const FILES = 'io.modelcontextprotocol/files';
    const upload = { name: 'upload_file', arguments: { path: 'slow.bin', file: { id: 'f', mimeType: 'application/octet-stream', size: 300 } } };
    const wanted = (await send(url, 'tools/call', upload, { extensions: { [FILES]: { upload: {} } } })).result;
    const [to] = wanted.uploads;
    const put = new Promise((done, failed) => { // a third of it each second
      const request = sendHTTP(url + to.path, { method: 'PUT', headers: { ...to.headers, 'content-length': 300 } }, (response) => response.resume().on('end', () => done(response.statusCode)));
      request.on('error', failed);
      for (const i of [0, 1, 2]) setTimeout(() => request.write('x'.repeat(100), () => i === 2 && request.end()), 900 * i);
    });
    const call = send(url, 'tools/call', { name: 'bash', arguments: { command: 'sleep 3; echo whole' } }, {});
    const task = (await send(url, 'tools/call', { name: 'bash', arguments: { command: 'sleep 3; echo whole', background: true } })).result.taskId;
    const stream = await listen(url);
    const begun = Date.now();
    c.replicas[0].child.kill('SIGTERM');
    await until(900, 'readyz says so', async () => (await fetch(`http://127.0.0.1:${c.ports[0]}/readyz`)).status === 503);
    assert.ok((await send(url, 'tools/call', { name: 'bash', arguments: { command: 'echo served' } }, {})).result, 'a call that comes before the balancer knows');
    assert.match(textOf((await call).result), /whole/);
    assert.equal(await put, 200);
    assert.match(await stream.ended, /"resultType":"complete"/);
    await c.replicas[0].exited;
    assert.ok(Date.now() - begun < 15_000, 'it took long');
    const { result } = await send(c.url, 'tasks/get', { taskId: task });
    assert.equal(result.status, 'completed', JSON.stringify(result));
    assert.match(JSON.stringify(result.result), /whole/);
  });
  await c.stop();
  await store.stop();
});

group('confirmations are good once', async (g) => {
  const port = await freePort();
  const store = await redis(port);
  const c = await Cluster.start('nginx', 3, { store: port });
  g.diagnose = () => c.log();
  await g.test('at any replica', async () => {
    for (let round = 0; round < 6; round++) {
      const args = { name: 'write_file', arguments: { path: `once${round}.txt`, content: 'x' } };
      const { result } = await send(c.url, 'tools/call', args);
      const again = { ...args, inputResponses: { confirm: { action: 'accept' } }, requestState: result.requestState };
      const answers = await Promise.all(Array.from({ length: 6 }, () => send(c.url, 'tools/call', again)));
      assert.equal(answers.filter((a) => a.result?.resultType === 'complete').length, 1, JSON.stringify(answers).slice(0, 500));
    }
  });
  await c.stop();
  await store.stop();
});

try {
  for (const [name, run] of groups) {
    if (only && !name.includes(only)) continue;
    const g = report.group(name);
    try {
      await run(g);
    } catch (error) {
      report.abandon(name, error);
    }
    g.close();
  }
} finally {
  endAll();
}
console.log(report.summary());
process.exit(report.failed ? 1 : 0);
