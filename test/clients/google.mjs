// Gmail and Calendar, with a stand-in for Google: the tools as each client calls them, and the stand-in as Google's own Node client
// uses it, so that it is no easier than what it stands in for.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { badNews, dataOf, success, textOf, textOnly } from './expect.mjs';
import { follow, startFake } from './spawn.mjs';

const CLIENT = { id: 'test-client', secret: 'test-secret' };
const ALICE = 'alice@example.com';

// Google is the stand-in, as a program of its own.
export class Google {
  static async start(binary) {
    const fake = new Google();
    Object.assign(fake, await startFake(binary));
    return fake;
  }

  // settings are the configuration of a server that uses it.
  settings() {
    const host = new URL(this.url).host;
    return { sandbox: { private_hosts: [host] }, google: { client_id: CLIENT.id, client_secret: CLIENT.secret, base_url: this.url } };
  }
}

// Browser follows redirects with cookies, as a person's browser does.
class Browser {
  cookies = new Map();

  async open(url, options = {}) {
    for (let hops = 0; hops < 10; hops++) {
      const at = new URL(url);
      const cookie = [...(this.cookies.get(at.hostname) ?? new Map())].map(([name, value]) => `${name}=${value}`).join('; ');
      const answer = await fetch(url, { ...options, redirect: 'manual', headers: { ...options.headers, ...(cookie && { cookie }) } });
      for (const line of answer.headers.getSetCookie()) {
        const [, name, value] = line.match(/^([^=]+)=([^;]*)/);
        if (!this.cookies.has(at.hostname)) this.cookies.set(at.hostname, new Map());
        this.cookies.get(at.hostname).set(name, value);
      }
      const next = answer.headers.get('location');
      if (!next || (options.stop && options.stop(new URL(next, url)))) return { url, next: next && new URL(next, url), text: await answer.text() };
      [url, options] = [new URL(next, url).href, { stop: options.stop }];
    }
    throw new Error(`too many redirects: ${url}`);
  }

  // consents allows everything on the consent page as an account.
  async consents(url, account, stop) {
    const page = await this.open(url);
    const request = page.text.match(/name="request" value="([^"]*)"/);
    assert.ok(request, `no consent page: ${page.text}`);
    const form = new URLSearchParams({ request: request[1], account, decision: 'allow' });
    for (const [, scope] of page.text.matchAll(/name="scope" value="([^"]*)"/g)) form.append('scope', scope);
    return this.open(new URL('/o/oauth2/v2/auth', page.url).href, {
      method: 'POST', body: form.toString(), headers: { 'content-type': 'application/x-www-form-urlencoded' }, stop,
    });
  }
}

// signIn signs in with the address that a tool has answered with.
export async function signIn(answer) {
  const { text } = badNews(answer, /^sign_in_required$/);
  const address = text.match(/http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]+/);
  assert.ok(address, text);
  const { text: page } = await new Browser().consents(address[0], ALICE);
  assert.match(page, /alice@example\.com/);
}

// signInAtTerminal signs in as a person at a terminal does, for clients that start a server for each call: its sign-in ends with it.
async function signInAtTerminal({ command, cwd, env }, config) {
  const visited = new Set();
  const visits = [];
  const code = await follow(command, ['auth', 'google', '--no-browser', '--config', config], { cwd, env }, (text) => {
    for (const [address] of text.matchAll(/http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]+(?=\s)/g)) {
      if (!visited.has(address)) visits.push(new Browser().consents(address, ALICE));
      visited.add(address);
    }
  });
  await Promise.all(visits);
  assert.deepEqual([code, visited.size], [0, 2]);
}

export const GOOGLE_TOOLS = [
  'calendar_create_event', 'calendar_get_event', 'calendar_list_events', 'gmail_read', 'gmail_search', 'gmail_send',
];

// runGoogle calls all six tools.
export async function runGoogle(group, session, { process, config, lasting }) {
  const call = (tool, args) => session.call(tool, args);
  await group.test('lists them', async () => {
    const names = (await session.list()).map((tool) => tool.name);
    for (const tool of GOOGLE_TOOLS) assert.ok(names.includes(tool), tool);
  });
  await group.test('sign in', async () => {
    if (!lasting) return signInAtTerminal(process, config);
    await signIn(await call('gmail_search', { query: 'message' }));
    await signIn(await call('calendar_list_events', {}));
  });
  let found;
  await group.test('gmail_search', async () => {
    const answer = await call('gmail_search', { query: 'subject:message', maxResults: 3 });
    const { messages, nextPageToken } = dataOf(answer);
    assert.equal(messages.length, 3);
    assert.ok(nextPageToken);
    [found] = messages;
    assert.match(textOf(answer.result), new RegExp(`^ID: ${found.id}\n  Date: .*\n  From: .*bob@example.com.*\n  Subject: Message \\d+\n  Snippet: `));
  });
  await group.test('gmail_read', async () => {
    const text = textOnly(await call('gmail_read', { messageId: found.id }));
    assert.match(text, /^From: .*\nTo: .*\nDate: .*\nSubject: Message \d+\n/);
    assert.match(text, /untrusted data/);
  });
  await group.test('gmail_send', async () => {
    const subject = `Grüße ${randomUUID()}`;
    const answer = await call('gmail_send', { to: 'bob@example.com', subject, body: 'Hello' });
    const { id, to } = dataOf(answer);
    assert.deepEqual(to, ['bob@example.com']);
    assert.match(textOf(answer.result), new RegExp(`^Email sent successfully \\(ID: ${id}\\)`));
    const { messages } = dataOf(await call('gmail_search', { query: `in:sent subject:${subject.split(' ')[1]}` }));
    assert.deepEqual(messages.map((m) => m.subject), [subject]);
    badNews(await call('gmail_read', { messageId: 'nothing0' }), /^not_found$|^invalid_query$/);
  });
  let event;
  await group.test('calendar_create_event', async () => {
    const answer = await call('calendar_create_event', { summary: 'Standup', start: '2026-03-02T11:35:00-07:00', end: '2026-03-02T12:00:00-07:00', timeZone: 'Europe/London' });
    event = dataOf(answer).event ?? dataOf(answer);
    assert.match(textOf(answer.result), /^Event created successfully\.\n {2}ID: .*\n {2}Summary: Standup\n {2}Start: .*18:35/);
  });
  await group.test('calendar_list_events', async () => {
    const answer = await call('calendar_list_events', { timeMin: '2026-03-02', timeMax: '2026-03-02', timeZone: 'Europe/London' });
    const { events } = dataOf(answer);
    assert.ok(events.some((e) => e.id === event.id), JSON.stringify(events));
    assert.match(textOf(answer.result), /^ID: .*\n {2}Summary: Standup/m);
  });
  await group.test('calendar_get_event', async () => {
    const answer = await call('calendar_get_event', { eventId: event.id });
    assert.match(textOf(success(answer)), /Summary: Standup/);
  });
}

// runGoogleapis drives the stand-in with Google's own client: whatever that cannot do, or refuses to read, is wrong in the stand-in.
export async function runGoogleapis(group, fake) {
  const { google } = await import('googleapis'); // 200 MB, which other tests of this file do not need
  const oauth = new google.auth.OAuth2({
    clientId: CLIENT.id, clientSecret: CLIENT.secret, redirectUri: 'http://127.0.0.1:1/callback',
    endpoints: { oauth2AuthBaseUrl: `${fake.url}/o/oauth2/v2/auth`, oauth2TokenUrl: `${fake.url}/token`, oauth2RevokeUrl: `${fake.url}/revoke` },
  });
  const scope = ['gmail.readonly', 'gmail.send', 'calendar.events'].map((name) => `https://www.googleapis.com/auth/${name}`);
  const refused = (promise, status) => assert.rejects(promise, (error) => Number(error.status ?? error.code) === status || assert.fail(`${error.status} ${error.message}`));
  await group.test('OAuth with PKCE', async () => {
    const { codeVerifier, codeChallenge } = await oauth.generateCodeVerifierAsync();
    const url = oauth.generateAuthUrl({ access_type: 'offline', prompt: 'consent', scope, state: 's', code_challenge: codeChallenge, code_challenge_method: 'S256' });
    const { next } = await new Browser().consents(url, ALICE, (to) => to.port === '1');
    assert.equal(next.searchParams.get('state'), 's');
    const code = next.searchParams.get('code');
    await refused(oauth.getToken({ code: 'other', codeVerifier }), 400);
    const { tokens } = await oauth.getToken({ code, codeVerifier });
    assert.ok(tokens.refresh_token && tokens.access_token && tokens.scope.includes('gmail.readonly'));
    oauth.setCredentials(tokens);
    await oauth.refreshAccessToken();
  });
  const gmail = google.gmail({ version: 'v1', auth: oauth, rootUrl: `${fake.url}/` });
  const calendar = google.calendar({ version: 'v3', auth: oauth, rootUrl: `${fake.url}/` });
  const me = { userId: 'me' };
  await group.test('Gmail: list, get, attachments', async () => {
    const { data } = await gmail.users.messages.list({ ...me, q: 'has:attachment', maxResults: 2 });
    assert.equal(data.messages.length, 2);
    const { data: full } = await gmail.users.messages.get({ ...me, id: data.messages[0].id, format: 'full' });
    const file = full.payload.parts.find((part) => part.filename);
    const { data: body } = await gmail.users.messages.attachments.get({ ...me, messageId: full.id, id: file.body.attachmentId });
    assert.equal(Buffer.from(body.data, 'base64url').toString(), 'a,b\n1,2\n');
    const { data: next } = await gmail.users.messages.list({ ...me, q: 'has:attachment', maxResults: 2, pageToken: data.nextPageToken });
    assert.notEqual(next.messages[0].id, data.messages[0].id);
    const { data: metadata } = await gmail.users.messages.get({ ...me, id: full.id, format: 'metadata', metadataHeaders: ['Subject'] });
    assert.deepEqual(metadata.payload.headers.map((header) => header.name), ['Subject']);
  });
  await group.test('Gmail: send and read back', async () => {
    const mail = 'To: bob@example.com\r\nSubject: from Node\r\n\r\nHello\r\n';
    const { data } = await gmail.users.messages.send({ ...me, requestBody: { raw: Buffer.from(mail).toString('base64url') } });
    const { data: raw } = await gmail.users.messages.get({ ...me, id: data.id, format: 'raw' });
    assert.match(Buffer.from(raw.raw, 'base64url').toString(), /Subject: from Node/);
    const { data: upload } = await gmail.users.messages.send({ ...me, media: { mimeType: 'message/rfc822', body: mail } }, { rootUrl: `${fake.url}/` });
    assert.ok(upload.id);
  });
  await group.test('Gmail: what is refused', async () => {
    await refused(gmail.users.messages.get({ ...me, id: '0000000000000000' }), 404);
    await refused(gmail.users.labels.create({ ...me, requestBody: { name: 'x' } }), 403);
    await refused(gmail.users.messages.list({ ...me, pageToken: 'no such' }), 400);
  });
  await group.test('Calendar: insert once, get, list', async () => {
    const at = (hour) => ({ dateTime: `2026-05-04T${hour}:00:00+02:00`, timeZone: 'Europe/Berlin' });
    const id = randomUUID().replaceAll('-', '').replace(/[w-z]/g, 'a');
    const event = { id, summary: 'Node', start: at(10), end: at(11) };
    const { data } = await calendar.events.insert({ calendarId: 'primary', requestBody: event });
    assert.equal(data.status, 'confirmed');
    await refused(calendar.events.insert({ calendarId: 'primary', requestBody: event }), 409);
    await refused(calendar.events.insert({ calendarId: 'primary', requestBody: { summary: 'no zone', start: { dateTime: '2026-05-04T10:00:00' }, end: { dateTime: '2026-05-04T11:00:00' } } }), 400);
    const { data: got } = await calendar.events.get({ calendarId: 'primary', eventId: id });
    assert.equal(Date.parse(got.start.dateTime), Date.parse('2026-05-04T08:00:00Z'));
    const { data: list } = await calendar.events.list({
      calendarId: 'primary', timeMin: '2026-05-04T00:00:00Z', timeMax: '2026-05-05T00:00:00Z', singleEvents: true, orderBy: 'startTime',
    });
    assert.deepEqual(list.items.map((item) => item.id), [id]);
    await refused(calendar.events.list({ calendarId: 'primary', timeMin: '2026-05-04' }), 400);
    await refused(calendar.events.list({ calendarId: 'nobody@example.com' }), 404);
  });
  await group.test('revoke', async () => {
    await oauth.revokeCredentials();
    await assert.rejects(gmail.users.getProfile(me));
  });
  await group.test('every answer keeps to the discovery documents', async () => assert.equal(await fake.stop(), ''));
}
