// Processes and deadlines. Every process started here is ended by its own id,
// at the latest when this program ends.

import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { once } from 'node:events';

const running = new Set();

// within gives a promise a deadline: it rejects, naming the work, when the
// promise has not settled after ms milliseconds.
export async function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// until polls a condition and returns its first truthy value.
export async function until(ms, what, condition) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`${what}: not so after ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

// alive tells whether a process exists.
export function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

// Tail keeps the last characters of a stream, for failure messages.
export class Tail {
  text = '';

  constructor(stream, most = 4000) {
    stream?.on('data', (chunk) => {
      this.text = (this.text + chunk).slice(-most);
    });
  }
}

// start starts a process that endAll ends.
export function start(command, args, options) {
  const child = spawn(command, args, options);
  running.add(child);
  child.once('error', () => running.delete(child));
  child.once('exit', () => running.delete(child));
  return child;
}

// adopt takes over a process that something else started, until release() says
// that it has ended.
export function adopt(pid) {
  const child = { kill: (signal) => alive(pid) && process.kill(pid, signal) };
  running.add(child);
  return { release: () => running.delete(child) };
}

// endAll kills what is still running. It is safe to call more than once.
export function endAll() {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
}

// output runs a command to its end and returns {code, stdout, stderr}. Past the
// deadline it is killed with all that it started.
export async function output(command, args, { cwd, env, ms = 30_000 } = {}) {
  const child = start(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (chunk) => { text[name] += chunk; });
  }
  try {
    const [code] = await within(ms, `${command} ${args.join(' ')}`, once(child, 'close'));
    return { code, ...text };
  } catch (error) {
    if (child.exitCode === null && child.pid) process.kill(-child.pid, 'SIGKILL');
    throw error;
  }
}

// freePort asks the system for a loopback port nobody listens on.
export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

// follow runs a command to its end and returns its exit code. said() gets all it has printed, whenever that is more.
export async function follow(command, args, { cwd, env }, said) {
  const child = start(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => said((text += chunk)));
  const [code] = await within(30_000, `${command} ${args.join(' ')}`, once(child, 'close'));
  return code;
}

// startFake starts a stand-in that prints its URL. stop() ends it and returns what it has said on standard error.
export async function startFake(binary, args = []) {
  const child = start(binary, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = new Tail(child.stdout);
  const errors = new Tail(child.stderr);
  const exited = once(child, 'exit');
  exited.catch(() => {});
  const url = await until(30_000, `${binary} prints its URL`, () => {
    if (child.exitCode !== null) throw new Error(`${binary} ended with ${child.exitCode}: ${errors.text}`);
    return said.text.includes('\n') && said.text.split('\n')[0];
  });
  const stop = async () => {
    child.kill('SIGINT');
    await within(10_000, 'exit after SIGINT', exited);
    return errors.text;
  };
  return { url, stop };
}

// startOnPort starts a program that serves at the port its environment names, which is given to it.
export async function startOnPort(command, args, path) {
  const port = await freePort();
  const child = start(command, args, { env: { PATH: process.env.PATH, PORT: port }, stdio: 'ignore' });
  const exited = once(child, 'exit');
  exited.catch(() => {});
  await until(30_000, `${args.join(' ')} serves`, () => fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined));
  const stop = async () => {
    child.kill('SIGTERM');
    await within(10_000, 'exit after SIGTERM', exited);
  };
  return { url: `http://127.0.0.1:${port}${path}`, stop };
}

// serveHTTP starts `binary serve --http` and waits until it is ready. The
// answer has the MCP endpoint's url, log() and stop(), which ends the server
// with SIGTERM and returns its exit code.
export async function serveHTTP({ binary, config, cwd, env }) {
  const port = await freePort();
  const args = ['serve', '--insecure-no-auth', '--http', `127.0.0.1:${port}`, '--config', config];
  const child = start(binary, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  const tail = new Tail(child.stderr);
  const exited = once(child, 'exit');
  exited.catch(() => {});
  const ready = async () => {
    if (child.exitCode !== null) throw new Error(`${binary} exited with ${child.exitCode}: ${tail.text}`);
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    return answer?.ok;
  };
  const stop = async () => {
    child.kill('SIGTERM');
    const [code, signal] = await within(10_000, 'exit after SIGTERM', exited);
    return code ?? signal;
  };
  try {
    await until(10_000, `${binary} is ready (server said: ${tail.text})`, ready);
  } catch (error) {
    child.kill('SIGKILL');
    throw new Error(`${error.message}\n${tail.text}`);
  }
  return { url: `http://127.0.0.1:${port}/mcp`, log: () => tail.text, stop };
}
