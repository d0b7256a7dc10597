// Counts tests and says what failed. A test is an async function that throws
// when an expectation does not hold; every test has a deadline.

import { within } from './spawn.mjs';

const TEST_DEADLINE_MS = 45_000;

export class Report {
  passed = 0;
  failed = 0;

  // group returns a view of the report whose tests are named "label > name".
  // `diagnose` is asked, once something failed, for what else helps to
  // understand it (the last lines the server logged).
  group(label, diagnose = () => '') {
    return new Group(this, label, diagnose);
  }

  // abandon counts work that could not be done at all as one failure.
  abandon(label, error) {
    this.failed++;
    console.log(`FAIL ${label}\n${indent(describe(error))}`);
  }

  // summary is the last line of a run.
  summary() {
    return `${this.passed} passed, ${this.failed} failed`;
  }
}

class Group {
  constructor(report, label, diagnose) {
    Object.assign(this, { report, label, diagnose, passed: 0, failed: 0 });
  }

  // test runs fn and counts it. It never throws, so one failure does not hide
  // the tests after it.
  async test(name, fn) {
    try {
      await within(TEST_DEADLINE_MS, name, fn());
      this.passed++;
      this.report.passed++;
    } catch (error) {
      this.failed++;
      this.report.failed++;
      const log = this.diagnose().trim();
      console.log(`FAIL ${this.label} > ${name}\n${indent(describe(error))}`);
      if (log) console.log(indent(`server log:\n${indent(log)}`));
    }
  }

  // close prints one line for the whole group.
  close() {
    console.log(`${this.failed ? 'FAIL' : 'ok  '} ${this.label}: ${this.passed} passed, ${this.failed} failed`);
  }
}

// describe keeps the message of an assertion and the place it was made, and
// drops the frames of the runtime.
function describe(error) {
  if (!(error instanceof Error)) return String(error);
  const frames = (error.stack ?? '').split('\n')
    .filter((line) => line.includes('/test/clients/') && !line.includes('/node_modules/'));
  const place = frames[0] ? `\n${frames[0].trim()}` : '';
  return clip(error.message, 3000) + place;
}

function clip(text, most) {
  return text.length <= most ? text : `${text.slice(0, most)} ... (${text.length} characters)`;
}

function indent(text) {
  return text.replace(/^/gm, '    ');
}
