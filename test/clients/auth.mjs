// Bearer tokens on HTTP.

import assert from 'node:assert/strict';

import { output } from './spawn.mjs';
import { success, textOf } from './expect.mjs';

// mintToken asks the product for a token: the secret, and the entry of
// server.tokens that admits it.
export async function mintToken(binary, world) {
  const args = ['token', 'new', 'clients', '--print', '--json'];
  const done = await output(binary, args, { cwd: world.work, env: world.env });
  assert.equal(done.code, 0, `${args.join(' ')}: ${done.stderr}`);
  const { token, config } = JSON.parse(done.stdout);
  return { token, settings: { server: { tokens: [config] } } };
}

// refusesStrangers checks the answer to a request without a token, and with a
// wrong one.
export async function refusesStrangers(url) {
  for (const headers of [{}, { Authorization: 'Bearer wrong' }, { Authorization: 'Basic d3Jvbmc6d3Jvbmc=' }]) {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
    });
    await answer.body?.cancel();
    assert.equal(answer.status, 401, `status for ${JSON.stringify(headers)}`);
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer\b/, 'WWW-Authenticate');
  }
}

// refusesClient checks that a client without a token cannot connect and is not
// left waiting.
export async function refusesClient(connect, target) {
  await assert.rejects(connect({ ...target, headers: {} }), (error) => {
    assert.ok([error.code, error.data?.status].includes(401) || /401|unauthorized/i.test(error.message), String(error));
    return true;
  });
}

// admitsClient checks that a client with the token can call tools.
export async function admitsClient(connect, target, token) {
  const session = await connect({ ...target, headers: { Authorization: `Bearer ${token}` } });
  try {
    assert.equal(textOf(success(await session.call('echo', { message: 'in' }))), 'Echo: in');
  } finally {
    await session.close();
  }
}
