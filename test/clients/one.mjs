// Drives a built toolserver with one real client, the newest SDK as its documentation uses it, on both
// transports: what breaks for clients breaks for this one. It needs no packages but the client.
//
//   node one.mjs TOOLSERVER FIXTURE GOOGLE
//
// The arguments are those of main.mjs. Ends with a line "N passed, N failed" and status 1 if something failed.

import { resolve } from 'node:path';

import { Report } from './report.mjs';
import { endAll } from './spawn.mjs';
import { runSuites } from './suites.mjs';
import { connectV2 } from './v2.mjs';

const RUN_DEADLINE_MS = 5 * 60_000;

const [binary, fixture, google] = process.argv.slice(2).map((path) => resolve(path));
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
const client = { label: 'sdk v2 auto', connect: (target) => connectV2('auto', target), sendsHeaders: true, asksPerson: true };
await Promise.all(['stdio', 'http'].map((transport) => runSuites({ report, transport, binary, fixture, google, ...client })));
finish();
