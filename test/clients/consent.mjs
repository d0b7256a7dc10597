// A tool that runs only after the user has agreed.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';

import { asSent, badNews, protocolError, success, textOf, textOnly } from './expect.mjs';

export const CONFIRM = { tools: { bash: { confirm: true } } };

const COMMAND = 'echo ran | tee ran.txt';

// runConsent is for a session whose client passes questions on to a person.
export async function runConsent(group, session, world, person) {
  for (const action of ['decline', 'cancel']) {
    await group.test(`confirm: ${action}`, async () => {
      const answer = await ask(session, person, action);
      badNews(answer, /^denied$/);
      assert.ok(!existsSync(world.path('ran.txt')), 'the command did not run');
    });
  }
  await group.test('confirm: accept', async () => {
    assert.equal(textOnly(await ask(session, person, 'accept')), 'ran');
    assert.ok(existsSync(world.path('ran.txt')), 'the command ran');
  });
  await group.test('confirm: every call anew', async () => {
    badNews(await ask(session, person, 'decline'), /^denied$/);
  });
  await group.test('confirm: wrong arguments are not asked about', async () => {
    person.asked.length = 0;
    assert.equal((await session.call('bash', {})).error?.code, -32602);
    assert.deepEqual(person.asked, []);
  });
  await group.test('confirm: other tools ask nothing', () => othersRun(session, person));
}

// runWithoutConsent is for one whose client cannot be asked.
export async function runWithoutConsent(group, session, world) {
  await group.test('confirm: nobody to ask', async () => {
    const answer = await session.call('bash', { command: COMMAND });
    protocolError(session, asSent(session, answer), {
      code: session.modern ? -32021 : -32005, type: 'missing_client_capability', tool: 'bash', message: /elicitation/,
      data: (data) => assert.deepEqual(data.requiredCapabilities, { elicitation: {} }, 'data.requiredCapabilities'),
    });
    assert.ok(!existsSync(world.path('ran.txt')), 'the command did not run');
  });
  await group.test('confirm: other tools run', () => othersRun(session));
}

// ask makes a call that the person is asked about once.
async function ask(session, person, action) {
  person.action = action;
  person.asked.length = 0;
  const answer = await session.call('bash', { command: COMMAND });
  assert.equal(person.asked.length, 1, 'asked once');
  const [{ mode = 'form', message, requestedSchema }] = person.asked;
  assert.equal(mode, 'form');
  assert.match(message, /bash/, 'the person sees the tool');
  assert.ok(message.includes(COMMAND), `the person sees the command: ${message}`);
  assert.deepEqual(requestedSchema, { type: 'object', properties: {} });
  return answer;
}

async function othersRun(session, person) {
  if (person) person.asked.length = 0;
  assert.equal(textOf(success(await session.call('echo', { message: 'hi' }))), 'Echo: hi');
  if (person) assert.deepEqual(person.asked, []);
}
