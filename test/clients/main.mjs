// Drives a built toolserver with real MCP clients:
//
//   node main.mjs TOOLSERVER [FIXTURE] [--google FAKE] [--mcpgo SERVER] [--gosdk CLIENT] [--only TEXT] [--except CLIENT]
//
// FIXTURE is the same server with tools that sleep, panic and report progress;
// without it the tests that need them are left out. FAKE stands in for Google. SERVER is one on mcp-go. --only runs the clients
// whose label (such as "sdk v2 auto stdio") contains TEXT, --except all but one, such as that of
// one.mjs. Ends with a line
// "N passed, N failed" and status 1 if something failed.

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

import { Google, runGoogleapis } from './google.mjs';
import { connectInspector } from './inspector.mjs';
import { checkForms } from './llmforms.mjs';
import { Report } from './report.mjs';
import { endAll } from './spawn.mjs';
import { runSuites } from './suites.mjs';
import { compareUpstreams } from './upstreams.mjs';
import { connectV1 } from './v1.mjs';
import { NEGOTIATIONS, connectV2 } from './v2.mjs';
import { World } from './world.mjs';

const RUN_DEADLINE_MS = 30 * 60_000;

const clients = [
  { label: 'sdk v1', connect: connectV1, sendsHeaders: true, asksPerson: true },
  ...Object.keys(NEGOTIATIONS).map((negotiation) => ({
    label: `sdk v2 ${negotiation}`,
    connect: (target) => connectV2(negotiation, target),
    sendsHeaders: true,
    asksPerson: true,
  })),
  { label: 'inspector', connect: connectInspector, sendsHeaders: false, asksPerson: false },
];

async function forms(report, binary) {
  const world = await World.create();
  const group = report.group('model forms');
  await checkForms(group, binary, world);
  group.close();
  await world.remove();
}

async function googleapis(report, fake) {
  const group = report.group('googleapis');
  await runGoogleapis(group, await Google.start(fake));
  group.close();
}

async function main() {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { only: { type: 'string', default: '' }, except: { type: 'string' }, google: { type: 'string', default: '' }, mcpgo: { type: 'string', default: '' }, gosdk: { type: 'string' } } });
  const [binary, fixture] = positionals.map((path) => resolve(path));
  if (!binary) {
    console.error('usage: node main.mjs TOOLSERVER [FIXTURE] [--only TEXT]');
    process.exit(2);
  }
  const report = new Report();
  const finish = () => {
    endAll();
    console.log(report.summary());
    process.exit(report.failed > 0 || report.passed === 0 ? 1 : 0);
  };
  setTimeout(() => {
    report.abandon('run', new Error(`not done after ${RUN_DEADLINE_MS} ms`));
    finish();
  }, RUN_DEADLINE_MS);
  if ('model forms'.includes(values.only)) await forms(report, binary);
  if (values.google && 'googleapis'.includes(values.only)) await googleapis(report, resolve(values.google));
  await compareUpstreams(report, binary, values.mcpgo && resolve(values.mcpgo), values.only);
  const drive = async (list) => {
    for (const client of list.filter(({ label }) => label !== values.except)) {
      const transports = ['stdio', 'http'].filter((transport) => `${client.label} ${transport}`.includes(values.only));
      await Promise.all(transports.map((transport) => runSuites({ report, transport, binary, fixture, google: values.google && resolve(values.google), ...client })));
    }
  };
  // The inspector starts a program for each request, which takes as long as all else.
  await Promise.all([drive(clients.slice(0, -1)), drive(clients.slice(-1))]);
  finish();
}

await main();
