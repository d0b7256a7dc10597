// What is tested with one client on one transport: one server per
// configuration, each in a world of its own.

import assert from 'node:assert/strict';

import { admitsClient, mintToken, refusesClient, refusesStrangers } from './auth.mjs';
import { CASES, TOOLS } from './cases.mjs';
import { checkNames, checkTool } from './catalog.mjs';
import { CONFIRM, runConsent, runWithoutConsent } from './consent.mjs';
import { runDocuments } from './documents.mjs';
import { DISABLED, FIXTURE_FAILURES, PRODUCT_FAILURES, runFailures } from './failures.mjs';
import { Google, runGoogle } from './google.mjs';
import { Person } from './person.mjs';
import { runPrompts } from './prompts.mjs';
import { serveHTTP } from './spawn.mjs';
import { cancelKills, cancelStops, manyAtOnce, progressArrives } from './streams.mjs';
import { World } from './world.mjs';

// A subject is {report, label, connect, sendsHeaders, asksPerson, transport,
// binary, fixture}: a client, what it can do, and the server it is to meet.

export async function runSuites(subject) {
  const { binary, fixture } = subject;
  await withSession(subject, 'tools', binary, {}, runTools);
  await withSession(subject, 'resources', binary, {}, runDocuments);
  await withSession(subject, 'prompts', binary, {}, runPrompts);
  await runConfirm(subject);
  if (subject.google) await runMailAndCalendar(subject);
  for (const errors of ['jsonrpc', 'result']) {
    const settings = { errors, tools: { [DISABLED]: { enabled: false } } };
    await withSession(subject, `errors: ${errors}`, binary, settings, (group, session) => runErrors(group, session, errors));
    if (!fixture) continue;
    await withSession(subject, `fixtures, errors: ${errors}`, fixture, { errors }, (group, session) =>
      runFixtures(group, session, errors));
  }
  if (subject.transport === 'http' && subject.sendsHeaders) await runAuth(subject);
}

async function runTools(group, session, world) {
  await group.test('handshake', async () => checkHandshake(session.info()));
  const tools = await list(group, session, TOOLS);
  for (const tool of tools) await group.test(`catalog: ${tool.name}`, async () => checkTool(tool));
  for (const { tool, name, args, check, sees } of CASES) {
    if (sees && !session.sees[sees]) continue;
    await group.test(`${tool}: ${name}`, async () => check(await session.call(tool, typeof args === 'function' ? args(world) : args), world, session));
  }
  await group.test('many calls at a time', () => manyAtOnce(session));
  if (session.sees.cancel && process.platform === 'linux') await group.test('cancelling ends the command', () => cancelKills(session));
}

async function runConfirm(subject) {
  await withSession(subject, 'confirm, nobody to ask', subject.binary, CONFIRM, runWithoutConsent);
  if (!subject.asksPerson) return;
  const person = new Person();
  const asking = { ...subject, connect: (target) => subject.connect({ ...target, person }) };
  await withSession(asking, 'confirm', subject.binary, CONFIRM, (group, session, world) => runConsent(group, session, world, person));
}

async function runMailAndCalendar(subject) {
  const fake = await Google.start(subject.google);
  await withSession(subject, 'gmail and calendar', subject.binary, fake.settings(), async (group, session, world, target) => {
    await runGoogle(group, session, { process: target.process, config: world.config, lasting: subject.transport === 'http' || subject.label !== 'inspector' });
    await group.test('Google refuses nothing', async () => assert.equal(await fake.stop(), ''));
  });
}

async function runErrors(group, session, errors) {
  await list(group, session, TOOLS.filter((name) => name !== DISABLED));
  await runFailures(group, session, errors, PRODUCT_FAILURES);
}

async function runFixtures(group, session, errors) {
  await runFailures(group, session, errors, FIXTURE_FAILURES);
  if (errors !== 'jsonrpc') return;
  if (session.sees.progress) await group.test('progress comes before the answer', () => progressArrives(session));
  if (session.sees.cancel) await group.test('a cancelled call is not answered', () => cancelStops(session));
}

// list also lets the client learn the output schemas, with which it then judges
// every result, errors included.
async function list(group, session, want) {
  let tools = [];
  await group.test('list', async () => {
    tools = await session.list();
    checkNames(tools, want);
  });
  return tools;
}

function checkHandshake(info) {
  if (!info) return; // this client does not show it
  assert.equal(info.protocol, info.wanted, 'protocol revision');
  assert.ok(info.server?.name && info.server?.version, 'server name and version');
  assert.ok(info.instructions?.length > 0 && info.instructions.length < 2000, 'instructions, under 2,000 characters');
}

// withSession serves `settings`, connects, runs `body` and ends everything.
async function withSession(subject, name, binary, settings, body) {
  const label = `${subject.label} ${subject.transport}: ${name}`;
  await withServer(subject, label, binary, settings, async (target, world) => {
    const session = await subject.connect(target);
    const group = subject.report.group(label, () => session.log());
    await body(group, session, world, target);
    await group.test('the client has no complaint', async () => assert.deepEqual(session.problems, []));
    await group.test('ends', () => session.close());
    if (target.stop) await group.test('SIGTERM ends the server', async () => assert.equal(await target.stop(), 0));
    group.close();
  });
}

// withServer makes a world and what a client needs to reach a server in it.
async function withServer(subject, label, binary, settings, body) {
  const world = await World.create(settings);
  let server;
  try {
    const at = { cwd: world.work, env: world.env };
    if (subject.transport === 'http') server = await serveHTTP({ binary, config: world.config, ...at });
    const args = ['serve', '--stdio', '--config', world.config];
    const target = { transport: subject.transport, process: { command: binary, args, ...at }, headers: {}, ...server };
    await body(target, world);
  } catch (error) {
    subject.report.abandon(label, error);
  } finally {
    await server?.stop().catch(() => {});
    await world.remove();
  }
}

async function runAuth(subject) {
  const { report, connect, binary } = subject;
  const label = `${subject.label} http: tokens`;
  const mint = await World.create();
  try {
    const { token, settings } = await mintToken(binary, mint);
    await withServer(subject, label, binary, settings, async (target) => {
      const group = report.group(label, target.log);
      await group.test('401 without the token', () => refusesStrangers(target.url));
      await group.test('a client without it is refused', () => refusesClient(connect, target));
      await group.test('a client with it is admitted', () => admitsClient(connect, target, token));
      group.close();
    });
  } catch (error) {
    report.abandon(label, error);
  } finally {
    await mint.remove();
  }
}
