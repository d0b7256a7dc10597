// Shows the views of a built toolserver (MCP Apps) in the official host, AppBridge, in Chromium:
//
//   node main.mjs TOOLSERVER [--google FAKE] [--anthropic FAKE] [--pictures DIRECTORY]
//
// Each view gets results of the running server, in both themes and at two widths; then odd and hostile ones. It must draw them, say its
// size, load nothing, log nothing, and have no finding of axe. Ends with "N passed, N failed" and status 1 if something failed.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';

import { Google, signIn } from '../google.mjs';
import { Report } from '../report.mjs';
import { adopt, endAll, startFake, until } from '../spawn.mjs';
import { World } from '../world.mjs';

const RUN_DEADLINE_MS = 3 * 60_000;
const TYPE = 'text/html;profile=mcp-app';
const BASE = 'ui://toolserver/';
const HOST = 'http://host.invalid/';
const VIEW = 'http://view.invalid/';
const ADMIN_KEY = 'sk-ant-admin01-fake-0123456789abcdef'; // of the fake

// What the specification has a host send with a view that declares no origins.
const CSP = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'";

// A host's colors; the other half of the tests has none.
const VARIABLES = {
  dark: { '--color-background-primary': '#101418', '--color-text-primary': '#f0f4f8', '--color-text-secondary': '#b4bcc4', '--color-border-primary': '#8090a0', '--font-sans': 'sans-serif' },
};

const names = ['google', 'anthropic', 'pictures', 'mcpgo', 'gosdk']; // the last two are for other clients
const { positionals, values: options } = parseArgs({ allowPositionals: true, options: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) });
const binary = resolve(positionals[0]);
const report = new Report();

/** A client that shows views, in either kind of protocol versions, or one that does not. */
async function connect(world, { shows = true, modern = false, answer } = {}) {
  const capabilities = { ...(answer && { elicitation: { form: {} } }), ...(shows && { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [TYPE] } } }) };
  const client = new Client({ name: 'apps', version: '1' }, { capabilities, ...(modern && { versionNegotiation: { mode: 'auto' } }) });
  if (answer) client.setRequestHandler('elicitation/create', answer);
  const transport = new StdioClientTransport({ command: binary, args: ['serve', '--config', world.config], cwd: world.work, env: world.env, stderr: 'ignore' });
  await client.connect(transport);
  const child = adopt(transport.pid);
  return Object.assign(client, { done: async () => { await client.close(); child.release(); } });
}

const call = async (client, name, args) => {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, JSON.stringify(result.content));
  return result;
};

/** The browser, the page of the host in it, and everything that either asks for or complains about. */
class Stage {
  static async open() {
    const stage = new Stage();
    const { outputFiles: [bundle] } = await build({ entryPoints: [join(import.meta.dirname, 'host.mjs')], bundle: true, write: false, format: 'iife', minify: true });
    stage.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    });
    stage.axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    stage.wrong = [];
    stage.page = await stage.browser.newPage();
    const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Host</title><body><script>${bundle.text.replaceAll('</script', '<\\/script')}</script>`;
    await stage.page.route('**/*', (route) => {
      const url = route.request().url();
      if (url === HOST) return route.fulfill({ contentType: 'text/html', body: html });
      if (url.startsWith(VIEW)) return route.fulfill({ contentType: 'text/html; charset=utf-8', headers: { 'content-security-policy': CSP }, body: stage.views[url.slice(VIEW.length)] });
      if (!url.endsWith('/favicon.ico')) stage.wrong.push(`asked for ${url}`);
      return route.abort();
    });
    stage.page.on('console', (message) => ['error', 'warning'].includes(message.type()) && stage.wrong.push(message.text()));
    stage.page.on('pageerror', (error) => stage.wrong.push(error.message));
    stage.page.on('dialog', (dialog) => { stage.wrong.push('dialog'); dialog.dismiss(); });
    await stage.page.exposeFunction('callTool', (params) => stage.client.callTool(params));
    await stage.page.goto(HOST);
    return stage;
  }

  /** Shows a view. */
  async show(name, { tool, theme = 'light', width = 1024, zone = 'Europe/Berlin', locale = 'en-GB' } = {}) {
    await this.page.setViewportSize({ width, height: 900 });
    const context = {
      theme, locale, timeZone: zone, displayMode: 'inline', containerDimensions: { width, maxHeight: 2000 }, platform: 'web',
      ...(VARIABLES[theme] && { styles: { variables: VARIABLES[theme] } }), ...(tool && { toolInfo: { tool: { name: tool, inputSchema: { type: 'object' } } } }),
    };
    await this.page.evaluate(([src, hostContext]) => window.show(src, hostContext), [VIEW + name, context]);
    this.view = this.page.frameLocator('iframe');
    this.frame = await until(5000, 'the frame', () => this.page.frames().find((f) => f.url().startsWith(VIEW)));
  }

  async give(args, result) {
    await this.page.evaluate(async ([input, output]) => { await window.bridge.sendToolInput({ arguments: input }); await window.bridge.sendToolResult(output); }, [args, result]);
    await this.view.locator('h1').waitFor({ timeout: 5000 });
  }

  /** What a view shows, as text. */
  text() { return this.view.locator('body').innerText(); }

  events(kind) { return this.page.evaluate((k) => window.events.filter((e) => e.kind === k).map((e) => e.params), kind); }

  /** Nothing may be wrong with what is shown. */
  async check(picture) {
    await until(5000, 'the size', async () => {
      const sizes = await this.events('size');
      const height = await this.frame.evaluate(() => Math.ceil(document.documentElement.getBoundingClientRect().height));
      return sizes.at(-1)?.height === height;
    });
    assert.ok(await this.frame.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'wider than its frame');
    await this.frame.addScriptTag({ content: this.axe });
    const found = await this.frame.evaluate(() => axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ').slice(0, 300)}`)));
    assert.deepEqual(found, []);
    if (options.pictures && picture) await this.page.screenshot({ path: join(options.pictures, `${picture}.png`), fullPage: true });
    await this.page.evaluate(() => window.bridge.teardownResource({}, { timeout: 2000 }));
    assert.deepEqual(this.wrong.splice(0), []);
  }
}

/** Has a client list the tools, and others see none of it. */
async function lists(world, settings) {
  const group = report.group('views');
  let plain;
  await group.test('only clients that show views are told of them', async () => {
    for (const modern of [false, true]) {
      const all = [];
      for (const shows of [false, true]) {
        const client = await connect(world, { shows, modern });
        const { tools } = await client.listTools();
        for (const tool of tools.filter((t) => t._meta?.ui)) {
          assert.equal(tool._meta['ui/resourceUri'], tool._meta.ui.resourceUri);
          assert.deepEqual(tool._meta.ui.visibility, ['model', 'app']);
          const { contents: [page] } = await client.readResource({ uri: tool._meta.ui.resourceUri });
          assert.equal(page.mimeType, TYPE);
          assert.equal(page._meta.ui.prefersBorder, true);
          assert.ok(Buffer.byteLength(page.text) < 8000, `${page.uri} has ${Buffer.byteLength(page.text)} bytes`);
        }
        const { resources } = await client.listResources();
        assert.ok(!resources.some(({ uri }) => uri.startsWith('ui:')), 'in the list');
        all.push(tools);
        await client.done();
      }
      const told = all[1].filter((t) => t._meta.ui).map((t) => t.name);
      assert.deepEqual(told, [...(options.google ? ['calendar_list_events'] : []), 'bash_jobs', 'edit_file', ...(options.anthropic ? ['anthropic_usage'] : [])].sort());
      for (const tool of all[1]) for (const key of ['ui', 'ui/resourceUri']) delete tool._meta[key];
      assert.deepEqual(all[1], all[0]);
      plain ??= all[0].length;
      assert.equal(all[0].length, plain);
    }
  });
  await group.test('a reload takes them away, and brings them back', async () => {
    const client = await connect(world);
    for (const ui of [false, true]) {
      await world.configure({ ...settings, protocol: { extensions: { ui } } });
      await until(10_000, `ui: ${ui}`, async () => (await client.listTools()).tools.some((t) => t._meta.ui) === ui);
      const read = client.readResource({ uri: `${BASE}diff` });
      await (ui ? read : assert.rejects(read, /no resource/));
    }
    await client.done();
    await world.configure(settings);
  });
  group.close();
}

const grids = ['light', 'dark'].flatMap((theme) => [360, 1024].map((width) => ({ theme, width })));

async function diff(stage, world) {
  const group = report.group('diff');
  const edits = [{ old_text: 'beta', new_text: 'BETA <b>bold</b>\u202e\nand more' }];
  await group.test('is drawn, and applies the edit', async () => {
    for (const grid of grids) {
      await world.write('notes.txt', 'alpha\nbeta\ngamma\n');
      const args = { path: 'notes.txt', edits, dry_run: true };
      await stage.show('diff', { tool: 'edit_file', ...grid });
      await stage.give(args, await call(stage.client, 'edit_file', args));
      assert.match(await stage.text(), /notes\.txt[\s\S]*2 added, 1 removed\. Nothing is written yet/);
      assert.equal(await stage.view.locator('ins').first().innerText(), '+BETA <b>bold</b>\ufffd');
      await stage.check(`diff-${grid.theme}-${grid.width}`);
      assert.match(await world.read('notes.txt'), /beta/);
      await stage.view.getByRole('button', { name: 'Apply' }).focus();
      await stage.page.keyboard.press('Enter');
      await stage.view.getByText('It is written').waitFor({ timeout: 5000 });
      assert.equal(await world.read('notes.txt'), 'alpha\nBETA <b>bold</b>\u202e\nand more\ngamma\n');
      assert.equal(await stage.view.getByRole('button').count(), 0);
      assert.deepEqual((await stage.events('call')).map((c) => c.arguments), [{ path: 'notes.txt', edits }]);
      assert.match(JSON.stringify(await stage.events('context')), /has applied this edit of notes\.txt/);
      await stage.check();
    }
  });
  await group.test('says that the file has changed meanwhile, and by the other name of dry_run', async () => {
    await world.write('notes.txt', 'alpha\nbeta\ngamma\n');
    const args = { path: 'notes.txt', edits, preview: true };
    await stage.show('diff', { tool: 'edit_file' });
    await stage.give(args, await call(stage.client, 'edit_file', args));
    await world.write('notes.txt', 'other\n');
    await stage.view.getByRole('button', { name: 'Apply' }).click();
    await stage.view.getByText(/Not applied: .*does not occur/).waitFor({ timeout: 5000 });
    assert.equal(await world.read('notes.txt'), 'other\n');
    await world.write('notes.txt', 'beta\n');
    await stage.view.getByRole('button', { name: 'Apply' }).click();
    await stage.view.getByText('It is written').waitFor({ timeout: 5000 });
    assert.match(await world.read('notes.txt'), /BETA/);
    await stage.check();
  });
  await group.test('no edit without the consent that the configuration wants', async () => {
    await world.configure({ ...stage.settings, tools: { edit_file: { confirm: true, rename: 'change_file' } } });
    const asked = [];
    const client = await connect(world, { answer: ({ params }) => { asked.push(params.message); return { action: 'decline' }; } });
    const before = stage.client;
    stage.client = client;
    await world.write('notes.txt', 'beta\n');
    const args = { path: 'notes.txt', edits, dry_run: true };
    const result = await call(client, 'change_file', args);
    const { contents: [page] } = await client.readResource({ uri: `${BASE}diff` });
    assert.match(page.text, /Changes/);
    assert.equal(asked.length, 0); // the dry run does nothing
    await stage.show('diff', { tool: 'change_file' });
    await stage.give(args, result);
    await stage.view.getByRole('button', { name: 'Apply' }).click();
    await stage.view.getByText(/Not applied/).waitFor({ timeout: 5000 });
    assert.equal(await world.read('notes.txt'), 'beta\n');
    assert.equal(asked.length, 1);
    await stage.check();
    stage.client = before;
    await client.done();
    await world.configure(stage.settings);
  });
  group.close();
}

async function jobs(stage) {
  const group = report.group('jobs');
  await group.test('are drawn, read and stopped', async () => {
    for (const grid of grids) {
      const before = (await call(stage.client, 'bash_jobs', { action: 'list' })).structuredContent.jobs.length;
      await call(stage.client, 'bash', { command: 'for i in $(seq 1 30); do echo "line $i <img src=x onerror=alert(1)>"; done; exec sleep 300', background: true });
      await call(stage.client, 'bash', { command: 'echo done; exit 3', background: true });
      const ended = async () => (await call(stage.client, 'bash_jobs', { action: 'list' })).structuredContent.jobs.some((j) => j.exit_code === 3);
      await until(10_000, 'a job ends', ended);
      await stage.show('jobs', { tool: 'bash_jobs', ...grid });
      await stage.give({ action: 'list' }, await call(stage.client, 'bash_jobs', { action: 'list' }));
      assert.equal(await stage.view.locator('article').count(), before + 2);
      const card = stage.view.locator('article').filter({ hasText: 'running' });
      await card.getByRole('button', { name: /^Output/ }).click();
      await card.locator('pre').filter({ hasText: 'line 30 <img src=x onerror=alert(1)>' }).waitFor({ timeout: 5000 });
      assert.ok(!(await card.locator('pre').innerText()).includes('line 10 '), 'the last lines only');
      await stage.check(`jobs-${grid.theme}-${grid.width}`);
      await card.getByRole('button', { name: /^Stop/ }).click();
      await card.waitFor({ state: 'detached', timeout: 5000 });
      assert.match(await stage.text(), /stopped/);
      await stage.view.getByRole('button', { name: 'Refresh' }).click();
      await stage.view.getByText('Done.').waitFor({ timeout: 5000 });
      await stage.check();
    }
    await stage.give({ action: 'list' }, { content: [{ type: 'text', text: 'none' }], structuredContent: { jobs: [] } });
    await stage.view.getByText('There are no background jobs').waitFor({ timeout: 5000 });
  });
  group.close();
}

async function usage(stage) {
  const group = report.group('usage');
  const reports = { cost: /Cost: US\$[\d.,]+/, usage: /Tokens: [\d,]+/, claude_code: /Cost: US\$/ };
  for (const [action, heading] of Object.entries(reports)) {
    await group.test(action, async () => {
      const args = { action, starting_at: '2026-11-01', ...(action === 'claude_code' ? { ending_at: '2026-11-05' } : { ending_at: '2026-11-15', limit: 31 }), ...(action === 'usage' && { group_by: ['model'] }) };
      const result = await call(stage.client, 'anthropic_usage', args);
      for (const grid of action === 'cost' ? grids : grids.slice(1, 2)) {
        await stage.show('usage', { tool: 'anthropic_usage', ...grid });
        await stage.give(args, result);
        assert.match(await stage.text(), heading);
        assert.match(await stage.text(), /claude-opus-5-5: /);
        const bars = await stage.view.locator('rect').evaluateAll((all) => all.filter((r) => r.getBoundingClientRect().height > 1).length);
        assert.equal(bars, 4 * (action === 'claude_code' ? 5 : 14));
        await stage.view.getByText('Table', { exact: true }).click();
        assert.equal(await stage.view.locator('tr').count(), 1 + (action === 'claude_code' ? 5 : 14));
        await stage.check(`${action}-${grid.theme}-${grid.width}`);
      }
      if (result.structuredContent.total_usd) assert.ok((await stage.text()).replaceAll(',', '').includes(result.structuredContent.total_usd.toFixed(2)));
    });
  }
  group.close();
}

async function calendar(stage) {
  const group = report.group('calendar');
  await group.test('a day, in the zone of the host', async () => {
    const events = [
      { summary: 'Standup <script>alert(1)</script>', start: '2027-03-02T09:00:00+01:00', end: '2027-03-02T09:15:00+01:00' },
      { summary: 'Review', start: '2027-03-02T09:00:00+01:00', end: '2027-03-02T11:00:00+01:00', location: 'Room 7' },
      { summary: 'Call', start: '2027-03-02T10:30:00+01:00', end: '2027-03-02T12:00:00+01:00' },
      { summary: 'Trip', start: '2027-03-01', end: '2027-03-03' },
      { summary: 'Night', start: '2027-03-02T22:00:00+01:00', end: '2027-03-03T02:00:00+01:00' },
    ];
    for (const event of events) await call(stage.client, 'calendar_create_event', event);
    const args = { timeMin: '2027-03-02', timeMax: '2027-03-02', timeZone: 'Europe/Berlin' };
    const result = await call(stage.client, 'calendar_list_events', args);
    assert.equal(result.structuredContent.events.length, 5);
    for (const grid of grids) {
      await stage.show('calendar', { tool: 'calendar_list_events', ...grid });
      await stage.give(args, result);
      await stage.view.getByRole('heading', { name: 'Tuesday, 2 March 2027' }).waitFor({ timeout: 5000 }); // that was asked for
      await stage.view.getByRole('button', { name: 'Previous' }).click();
      await stage.view.getByRole('heading', { name: 'Monday, 1 March 2027' }).waitFor({ timeout: 5000 });
      assert.match(await stage.text(), /Trip, all day/);
      assert.ok(await stage.view.getByRole('button', { name: 'Previous' }).isDisabled());
      await stage.view.getByRole('button', { name: 'Next' }).click();
      await stage.view.getByRole('heading', { name: 'Tuesday, 2 March 2027' }).waitFor({ timeout: 5000 });
      const box = (name) => stage.view.locator('li').filter({ hasText: name }).boundingBox();
      const [standup, review, late, night] = [await box('Standup'), await box('Review'), await box('Call'), await box('Night')];
      assert.ok(standup.x !== review.x && standup.y === review.y, 'side by side');
      assert.ok(review.x !== late.x && late.y < review.y + review.height && late.y > review.y, 'side by side, later');
      assert.ok(night.y > late.y + late.height && night.width > 1.9 * review.width);
      assert.match(await stage.text(), /Trip, all day[\s\S]*09:00 to 11:00, Room 7[\s\S]*22:00 to 2027-03-03 02:00[\s\S]*Times are of Europe\/Berlin/);
      await stage.check(`calendar-${grid.theme}-${grid.width}`);
    }
    await stage.show('calendar', { tool: 'calendar_list_events', zone: 'America/New_York', locale: 'de-DE' });
    await stage.give(args, result);
    await stage.view.getByRole('button', { name: 'Next' }).click(); // it asked for what begins on the day before there
    assert.match(await stage.text(), /Dienstag, 2\. März 2027[\s\S]*03:00 to 05:00, Room 7[\s\S]*Times are of America\/New_York/);
  });
  group.close();
}

const XSS = '<img src=https://evil.example/x onerror="alert(1)"><script>alert(2)</script>';
const long = 'x'.repeat(50_000);
// Values in the place of others.
const odds = [null, undefined, '', 'text', XSS, long, 0, -1, 1e300, NaN, true, [], [null], [[]], {}, { a: 1 }, [{}], [XSS], [{ a: XSS }]];
// Results as each view may get them, of which members are replaced by each of the odd values.
const seeds = {
  usage: { structuredContent: { total_usd: 3, data: [{ starting_at: XSS, results: [{ model: XSS, amount_usd: 3, estimated_cost: { amount_usd: 1 } }], model_breakdown: [{ model: 'm', tokens: { input: 1 } }] }], notes: [XSS], has_more: true } },
  diff: { content: [{ type: 'text', text: `Dry run, nothing was written:\n--- ${XSS}\n+++ ${XSS}\n@@ -1,2 +1,2 @@\n-${XSS}\n+--- b\n c${XSS}\n[2 more lines of the diff]\n` }], _meta: { path: XSS, dry_run: true } },
  jobs: { structuredContent: { jobs: [{ job: XSS, state: 'running', seconds: 3, exit_code: 1, command: XSS, error: XSS }], output: XSS, next_offset: 5, sandbox: XSS } },
  calendar: {
    structuredContent: {
      events: [{ summary: XSS, location: XSS, start: { dateTime: '2027-03-02T09:00:00Z' }, end: { dateTime: '2027-03-02T10:00:00Z' }, status: XSS, myResponse: XSS },
        { summary: 'a', allDay: true, start: { date: '2027-03-02' }, end: { date: '2027-03-02' } }], timeZone: 'Europe/Berlin', timeMin: '2027-03-02T00:00:00Z', nextPageToken: 'x', failed: [XSS],
    },
  },
};

/** All copies of a value in which one member, however deep, is something else. */
function* variants(value) {
  yield* odds;
  if (!value || typeof value !== 'object') return;
  for (const key of Object.keys(value)) {
    for (const other of variants(value[key])) {
      const copy = Array.isArray(value) ? [...value] : { ...value };
      copy[key] = other;
      yield copy;
    }
  }
}

async function hostile(stage) {
  const group = report.group('odd and hostile');
  for (const [name, seed] of Object.entries(seeds)) {
    await group.test(name, async () => {
      await stage.show(name);
      const params = { content: [{ type: 'text', text: `The answer. ${XSS}` }], ...seed };
      await stage.give({ path: XSS }, params);
      const drawn = await stage.text();
      assert.ok(drawn.includes(XSS) && !drawn.includes('Nothing to draw'), drawn.slice(0, 500));
      await stage.check(`hostile-${name}`);
      const all = [...variants(params)].map((p) => ({ jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: p }));
      const messages = [...all, ...odds, ...odds.map((id) => ({ jsonrpc: '2.0', id, result: {} })), ...odds.map((method) => ({ jsonrpc: '2.0', method })),
        ...odds.map((params) => ({ jsonrpc: '2.0', method: 'ui/notifications/tool-input', params: { arguments: params } })),
        ...odds.flatMap((odd) => ['theme', 'styles', 'locale', 'timeZone', 'toolInfo'].map((key) => ({ jsonrpc: '2.0', method: 'ui/notifications/host-context-changed', params: { [key]: odd } })))];
      const slow = await stage.page.evaluate(async (list) => {
        const begun = performance.now();
        list.forEach(window.raw);
        await window.bridge.teardownResource({}, { timeout: 20_000 }); // answered after all of them
        return performance.now() - begun;
      }, messages);
      assert.ok(slow < 15_000, `${messages.length} messages took ${slow} ms`);
      assert.equal(await stage.frame.evaluate(() => document.querySelectorAll('img, a, iframe, main script').length), 0);
      await stage.give({ path: 'a' }, { content: [{ type: 'text', text: 'It failed.' }], isError: true });
      assert.match(await stage.text(), /Nothing to draw\s+It failed\./);
      await stage.give({ path: 'a' }, params);
      assert.ok(!(await stage.text()).includes('Nothing to draw'));
      await stage.page.evaluate(() => window.bridge.sendToolCancelled({ reason: 'user' }));
      await stage.view.getByText('The call was canceled.').waitFor({ timeout: 5000 });
      await stage.check();
    });
  }
  group.close();
}

async function main() {
  const world = await World.create();
  let stage, google, anthropic;
  try {
    stage = await Stage.open();
    google = options.google && await Google.start(resolve(options.google));
    anthropic = options.anthropic && await startFake(resolve(options.anthropic));
    stage.settings = {
      ...(google && google.settings()),
      sandbox: { private_hosts: [google, anthropic].filter(Boolean).map(({ url }) => new URL(url).host) },
      ...(anthropic && { anthropic: { admin_api_key: ADMIN_KEY, base_url: anthropic.url } }),
    };
    await world.configure(stage.settings);
    await lists(world, stage.settings);
    stage.client = await connect(world, { modern: true });
    stage.views = {};
    for (const { _meta } of (await stage.client.listTools()).tools) {
      if (_meta?.ui) stage.views[_meta.ui.resourceUri.slice(BASE.length)] = (await stage.client.readResource({ uri: _meta.ui.resourceUri })).contents[0].text;
    }
    await diff(stage, world);
    await jobs(stage);
    if (anthropic) await usage(stage);
    if (google) {
      const refused = await stage.client.callTool({ name: 'calendar_list_events', arguments: {} });
      await signIn({ result: refused });
      await calendar(stage);
    }
    for (const name of Object.keys(seeds)) if (!stage.views[name]) delete seeds[name];
    await hostile(stage);
    await stage.client.done();
  } finally {
    await stage?.browser.close();
    await google?.stop();
    await anthropic?.stop();
    await world.remove();
  }
}

setTimeout(() => { console.log('FAIL not done in time'); endAll(); process.exit(1); }, RUN_DEADLINE_MS).unref();
await main().catch((error) => report.abandon('run', error));
endAll();
console.log(report.summary());
process.exit(report.failed || !report.passed ? 1 : 0);
