// What a session can do besides call and answer: progress, cancelling, and many
// calls at a time.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';

import { success, textOf } from './expect.mjs';
import { until } from './spawn.mjs';

const REPEATS = 50; // a notification lost half of the time must not slip through
const STEPS = 5;

// progressArrives calls a tool that reports STEPS steps. All of them must come
// before the answer. That is judged on the wire: on stdio the SDKs handle an
// answer ahead of notifications that were read together with it, and then drop
// those, so the caller's own count says nothing about the server there.
export async function progressArrives(session) {
  const before = session.problems.length;
  for (let round = 1; round <= REPEATS; round++) {
    const seen = [];
    const onprogress = ({ progress }) => seen.push(progress);
    session.wire.length = 0;
    success(await session.call('fixture_progress', { steps: STEPS }, { onprogress }));
    assert.deepEqual(session.wire, [...Array(STEPS).fill('progress'), 'answer'], `round ${round}`);
    assert.deepEqual(seen, [...seen].sort((a, b) => a - b), `round ${round}: in order`);
    if (session.sees.everyProgress) assert.equal(seen.length, STEPS, `round ${round}: reported to the caller`);
  }
  if (!session.sees.everyProgress) session.problems.splice(before);
}

// manyAtOnce keeps twenty calls in flight and matches every answer to its call.
export async function manyAtOnce(session) {
  const words = Array.from({ length: 20 }, (_, i) => `call ${i}`);
  const answers = await Promise.all(words.map((message) => session.call('echo', { message })));
  assert.deepEqual(answers.map((answer) => textOf(success(answer))), words.map((word) => `Echo: ${word}`));
}

// cancelStops aborts a waiting call. The client must get no answer for it, and
// the session must go on.
export async function cancelStops(session) {
  const before = session.problems.length;
  const abort = new AbortController();
  const call = session.call('fixture_sleep', { seconds: 30 }, { signal: abort.signal });
  const refused = assert.rejects(call, 'an aborted call rejects');
  setTimeout(() => abort.abort('changed my mind'), 100);
  await refused;
  success(await session.call('echo', { message: 'still here' }));
  await session.call('fixture_sleep', { seconds: 30 }); // a late answer would come before this one's
  assert.deepEqual(session.problems.slice(before).filter((p) => /unknown message/i.test(p)), [], 'no answer to the aborted call');
}

// cancelKills aborts a running command; its process must end.
export async function cancelKills(session) {
  const seconds = `3${process.pid}.${Math.floor(Math.random() * 1e9)}`; // found by its odd argument
  const abort = new AbortController();
  const call = session.call('bash', { command: `sleep ${seconds}` }, { signal: abort.signal });
  const refused = assert.rejects(call, 'an aborted call rejects');
  await until(5_000, 'the command runs', () => findProcess(seconds));
  abort.abort('changed my mind');
  await refused;
  await until(5_000, 'the command has ended', async () => !await findProcess(seconds));
}

// findProcess looks for a process with `word` among its arguments. Linux only.
async function findProcess(word) {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.split('\0').includes(word)) return pid;
  }
  return undefined;
}
