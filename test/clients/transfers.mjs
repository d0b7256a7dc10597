// Sends files by address as a client with the extension io.modelcontextprotocol/files:
//
//   node transfers.mjs TOOLSERVER
//
// There is no published text of the extension. The rules below are those by which Claude Code 2.1.331
// judges what a server offers and answers.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const ID = 'io.modelcontextprotocol/files';
const VERSION = '2026-07-28';
const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const only = (object, names, what) => assert.deepEqual(Object.keys(object).filter((k) => object[k] !== null && !names.includes(k)), [], `${what} has members that the extension does not define`);
const text = (v, what, most = 4096) => assert(typeof v === 'string' && v !== '' && v.length <= most, `${what}: ${v}`);
const rfc3339 = (v, what) => assert.match(v, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/, what);
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

// checkCapability: upload and download are objects, and no newer revision is asked for.
function checkCapability(capabilities) {
  const offered = capabilities.extensions?.[ID];
  assert(isObject(offered) && isObject(offered.upload) && (offered.revision ?? null) === null, JSON.stringify(capabilities));
  assert(isObject(offered.download));
}

// checkFileArgument: an argument that a file of the client can stand for.
function checkFileArgument(input, name) {
  const notes = ['title', 'description', '$comment', 'examples', 'example', 'default', 'deprecated', 'readOnly', 'writeOnly'];
  assert.equal(input.type, 'object');
  only(input, ['type', 'properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties', 'dependentRequired', '$defs', 'definitions', '$schema', '$id', ...notes], 'the schema');
  const file = input.properties[name];
  only(file, ['type', 'required', 'properties', 'additionalProperties', 'anyOf', 'x-mcp-file', ...notes], name);
  assert(isObject(file['x-mcp-file']) && file.type === 'object');
  const { maxSize } = file['x-mcp-file'];
  assert(Number.isInteger(maxSize) && maxSize > 0);
  for (const member of ['id', 'mimeType', 'size']) assert(file.required.includes(member) && isObject(file.properties[member]), member);
  for (const member of file.required) assert(['id', 'mimeType', 'size', 'digest', 'name'].includes(member), member);
  for (const member of ['digest', 'name']) assert(isObject(file.properties[member]), `${member} could not be sent`);
}

// targetsOf: an answer that wants files, and no other one.
function targetsOf(result, ids) {
  assert.equal(result.resultType, 'upload_required', JSON.stringify(result));
  text(result.requestState, 'requestState', Infinity);
  assert(Array.isArray(result.uploads));
  const found = new Map();
  for (const upload of result.uploads) {
    only(upload, ['fileId', 'url', 'path', 'method', 'form', 'headers', 'credentials', 'expiresAt', '_meta'], 'an upload');
    text(upload.fileId, 'fileId');
    assert((upload.url === undefined) !== (upload.path === undefined), 'either url or path');
    text(upload.url ?? upload.path, 'address');
    assert.equal(upload.path, '/uploads'); // added to the address of the endpoint; no other path is accepted
    assert(['PUT', 'POST', undefined].includes(upload.method) && upload.form === undefined);
    assert.equal(upload.credentials, 'include');
    rfc3339(upload.expiresAt, 'expiresAt');
    assert(isObject(upload.headers) && Object.keys(upload.headers).length <= 32);
    const headers = Object.entries(upload.headers).map(([k, v]) => [k.toLowerCase(), v]);
    assert.deepEqual(headers.filter(([k]) => !['x-upload-token', 'content-type'].includes(k)), []);
    assert.match(Object.fromEntries(headers)['x-upload-token'], TOKEN);
    assert(ids.includes(upload.fileId) && !found.has(upload.fileId), `fileId ${upload.fileId}`);
    found.set(upload.fileId, upload);
  }
  assert.deepEqual([...found.keys()].sort(), [...ids].sort(), 'a file has no target');
  return found;
}

// downloadOf: the one file that a result offers, for a client that reaches the server directly or through a relay.
function downloadOf(result) {
  const { downloads } = result._meta?.[ID] ?? {};
  assert(Array.isArray(downloads) && downloads.length === 1, JSON.stringify(result));
  const [offer] = downloads;
  only(offer, ['name', 'mimeType', 'size', 'digest', 'url', 'path', 'headers', 'credentials', 'expiresAt', '_meta'], 'a download');
  text(offer.name, 'name');
  text(offer.mimeType, 'mimeType');
  assert(Number.isSafeInteger(offer.size) && offer.size >= 0);
  assert((offer.url === undefined) !== (offer.path === undefined), 'either url or path');
  assert.match(offer.path, /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/);
  assert.equal(offer.path, '/downloads');
  assert.equal(offer.credentials, 'include');
  rfc3339(offer.expiresAt, 'expiresAt');
  const headers = Object.entries(offer.headers);
  assert(headers.length === 1 && headers[0][0].toLowerCase() === 'x-download-token', JSON.stringify(headers));
  assert.match(headers[0][1], TOKEN);
  assert(!JSON.stringify([result.content, result.structuredContent]).includes(headers[0][1]), 'the model reads the token');
  return offer;
}

const directory = mkdtempSync('/var/tmp/transfers-');
const work = join(directory, 'work');
const config = join(directory, 'config.yaml');
mkdirSync(work);
const secret = 'a'.repeat(43);
writeFileSync(config, JSON.stringify({
  working_directory: work, state_directory: join(directory, 'state'), protocol: { experimental: true },
  server: { tokens: [{ name: 'ann', hash: `sha256:${createHash('sha256').update(secret).digest('hex')}` }] },
}));
const server = spawn(realpathSync(process.argv[2]), ['serve', '--http', '127.0.0.1:0', '--config', config], { stdio: ['ignore', 'ignore', 'pipe'] });
try {
  const endpoint = await new Promise((done, failed) => {
    server.on('exit', () => failed(new Error('the server has ended')));
    createInterface({ input: server.stderr }).on('line', (line) => line.match(/http:\S+/) && done(line.match(/http:[^\s,]+/)[0]));
  });
  const authorization = `Bearer ${secret}`;
  const request = async (method, params = {}) => {
    const meta = { [`io.modelcontextprotocol/protocolVersion`]: VERSION, 'io.modelcontextprotocol/clientCapabilities': { extensions: { [ID]: { upload: {}, download: {} } } } };
    const response = await fetch(endpoint, {
      method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
      headers: {
        authorization, 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': VERSION, 'mcp-method': method,
        ...(params.name && { 'mcp-name': params.name }),
      },
    });
    const body = await response.text();
    const { result, error } = JSON.parse(body.startsWith('{') ? body : body.split('\n').findLast((l) => l.startsWith('data: ')).slice(6));
    assert(result, JSON.stringify(error));
    return result;
  };

  checkCapability((await request('server/discover')).capabilities);
  const tools = (await request('tools/list')).tools;
  checkFileArgument(tools.find(({ name }) => name === 'upload_file').inputSchema, 'file');

  const bytes = randomBytes(5_000_000);
  const sha256 = createHash('sha256').update(bytes).digest();
  const file = { id: 'file-1', name: 'report.pdf', mimeType: 'application/pdf', size: bytes.length, digest: { algorithm: 'sha-256', value: sha256.toString('base64url') } };
  for (const sent of [file, { id: 'file-1', mimeType: file.mimeType, size: file.size }]) {
    const params = { name: 'upload_file', arguments: { path: 'in/report.pdf', file: sent } };
    const wanted = await request('tools/call', params);
    const to = targetsOf(wanted, ['file-1']).get('file-1');
    const put = await fetch(endpoint + to.path, { method: to.method, body: bytes, headers: { ...to.headers, authorization } });
    assert.equal(put.status, 200);
    assert.deepEqual(await put.json(), { sha256: sha256.toString('hex'), size: bytes.length });
    const done = await request('tools/call', { ...params, requestState: wanted.requestState });
    assert(!done.isError && done.resultType === 'complete', JSON.stringify(done));
    assert(readFileSync(join(work, 'in/report.pdf')).equals(bytes));
  }

  const offer = downloadOf(await request('tools/call', { name: 'download_file', arguments: { path: 'in/report.pdf' } }));
  const get = (range) => fetch(endpoint + offer.path, { headers: { ...offer.headers, authorization, 'accept-encoding': 'identity', ...range } });
  const first = await get({ range: 'bytes=0-999' });
  const etag = first.headers.get('etag');
  assert.equal(first.status, 206);
  assert.match(etag, /^"[\x21\x23-\x7e]*"$/);
  assert.equal(first.headers.get('content-range'), `bytes 0-999/${bytes.length}`);
  const rest = await get({ range: 'bytes=1000-', 'if-range': etag });
  assert.equal(rest.status, 206);
  assert.equal(rest.headers.get('content-encoding'), null);
  assert(Buffer.concat([Buffer.from(await first.arrayBuffer()), Buffer.from(await rest.arrayBuffer())]).equals(bytes));
  assert.equal((await get({})).status, 200); // until it expires
  const whole = downloadOf(await request('tools/call', { name: 'download_file', arguments: { path: 'in/report.pdf' } }));
  const all = await fetch(endpoint + whole.path, { headers: { ...whole.headers, authorization } });
  assert.equal(all.status, 200);
  assert(Buffer.from(await all.arrayBuffer()).equals(bytes));
  console.log('files by address: an upload with and without a digest, a download in parts and whole');
} finally {
  server.kill();
  rmSync(directory, { recursive: true, force: true });
}
