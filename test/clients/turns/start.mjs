// Starts what turns need: a server on HTTP, a client, and all of it where there is no network but loopback.

import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

import { Tail, endAll, start, within } from '../spawn.mjs';

/** Runs the program again where there is only a loopback interface, if that can be made, and ends with its status. */
export async function alone() {
  if (process.env.TURNS_ALONE) return;
  const inner = 'ip link set lo up && exec "$@"';
  let where = ['unshare', '-n', 'sh', '-c', inner, 'sh'];
  try { execFileSync(where[0], [...where.slice(1), 'true'], { stdio: 'ignore' }); } catch { where = []; }
  const [file, ...args] = [...where, process.execPath, ...process.argv.slice(1)];
  const child = spawn(file, args, { stdio: 'inherit', env: { ...process.env, TURNS_ALONE: '1' } });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  process.exit(await new Promise((done) => child.on('exit', (code) => done(code ?? 1))));
}

/** Has the processes that are started here end, and a directory go, when the program ends, however it does: by a signal, or with what started it. */
export function leaveNothing(directory) {
  const { ppid } = process;
  setInterval(() => process.ppid !== ppid && process.exit(1), 1000).unref();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  process.on('exit', () => {
    endAll();
    if (process.env.TURNS_KEEP) return;
    for (let tries = 0; tries < 200; tries++) { // clients that were just ended may still write
      try { return rmSync(directory, { recursive: true, force: true }); } catch { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100); }
    }
  });
}

/** A token of a principal, and the entry of the configuration that has its hash. */
export function principal(name) {
  const token = name.padEnd(43, '0');
  return { token, entry: { name, hash: `sha256:${createHash('sha256').update(token).digest('hex')}` } };
}

/** Writes a configuration, whole at once. */
export function writeConfig(file, config) {
  writeFileSync(`${file}.new`, JSON.stringify(config));
  renameSync(`${file}.new`, file);
}

/** Starts a server on HTTP. */
export async function serve(toolserver, config) {
  const server = start(toolserver, ['serve', '--http', '127.0.0.1:0', '--config', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((done) => server.on('exit', (code, signal) => done(code ?? signal)));
  const url = await within(30_000, 'the server starts', new Promise((done, failed) => {
    ended.then((code) => failed(new Error(`the server has ended: ${code}`)));
    createInterface({ input: server.stderr }).on('line', (line) => line.match(/http:\S+/) && done(line.match(/http:[^\s,]+/)[0]));
  }));
  return { url, running: () => server.exitCode === null, close: () => { server.kill(); return ended; } };
}

/** Starts a client as its entry has prepared it; one that lasts is at a terminal, where something may be typed. */
export function launch({ file, args, cwd, env }, home, lasts) {
  const child = start(file, args, { cwd, stdio: [lasts ? 'pipe' : 'ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH, HOME: home, USER: 'somebody', TERM: 'dumb', NO_COLOR: '1', ...env } });
  const tails = [new Tail(child.stdout, 2000), new Tail(child.stderr, 2000)];
  return {
    child, said: () => tails.map(({ text }) => text).join('\n'),
    ended: new Promise((done) => child.on('exit', (code, signal) => done(code ?? signal))),
  };
}
