// One or more calls per tool, in an order in which later ones may use what
// earlier ones left behind. Every tool the server lists must be called here.
//
// A case is {tool, name, args, check(answer, world, session)}; args may be a function
// of the world; `sees` names
// what the session must be able to do, such as keep state between calls.

import assert from 'node:assert/strict';

import { badNews, dataOf, success, textOf, textOnly } from './expect.mjs';
import { fileCases } from './files.mjs';
import { webCases } from './web.mjs';

const echo = [
  {
    tool: 'echo', name: 'message', args: { message: 'hi' },
    check: (answer) => assert.equal(textOf(success(answer)), 'Echo: hi'),
  },
  {
    tool: 'echo', name: 'no argument', args: {},
    check: (answer) => assert.equal(textOf(success(answer)), 'Echo: '),
  },
  {
    tool: 'echo', name: 'any character', args: { message: 'žluť 猫 🐈 "\\ \u2028 </script>\ttab\nline' },
    check: (answer) => assert.equal(textOf(success(answer)), 'Echo: žluť 猫 🐈 "\\ \u2028 </script>\ttab\nline'),
  },
];

const shell = [
  {
    tool: 'bash', name: 'both streams, as they came', args: { command: 'echo out; echo err >&2; echo out2' },
    check: (answer) => assert.equal(textOnly(answer), 'out\nerr\nout2'),
  },
  {
    tool: 'bash', name: 'starts in the working directory', args: { command: 'pwd' },
    check: (answer, world) => assert.equal(textOnly(answer), world.work),
  },
  {
    tool: 'bash', name: 'exit status', args: { command: 'echo before; exit 3' },
    check(answer) {
      const { text, envelope } = badNews(answer);
      assert.match(text, /^before\n\[exit code 3\]/);
      assert.match(envelope.message, /before/, 'the envelope is complete without the text');
      assert.match(envelope.message, /exit (code|status) 3/);
    },
  },
  {
    tool: 'bash', name: 'time limit keeps what was printed', args: { command: 'echo part; sleep 30', timeout: 1 },
    check(answer) {
      const { text } = badNews(answer);
      assert.match(text, /^part\n/);
      assert.match(text, /\[timed out after 1s\]/);
    },
  },
  {
    tool: 'execute_command', name: 'fields', args: { command: 'echo hi' },
    check(answer) {
      const data = dataOf(answer);
      assert.deepEqual(JSON.parse(textOf(answer.result)), data, 'text and structured content agree');
      assert.equal(data.exit_code, 0);
      assert.match(data.stdout, /^hi\n?$/);
      assert.equal(data.stderr, '');
      assert.equal(data.timed_out, false);
      assert.equal(data.truncated, false);
      assert.equal(typeof data.duration_ms, 'number');
    },
  },
  {
    tool: 'bash_jobs', name: 'of nobody', args: {},
    check: (answer) => assert.deepEqual(dataOf(answer).jobs, []),
  },
  {
    tool: 'execute_command', name: 'standard input and environment',
    args: { command: 'cat; echo "$GREETING"', stdin: 'typed\n', env: { GREETING: 'hello' } },
    check: (answer) => assert.match(dataOf(answer).stdout, /^typed\nhello\n?$/),
  },
  {
    tool: 'execute_command', name: 'exit status', args: { command: 'echo oops >&2; exit 4' },
    check({ result }) {
      assert.equal(result?.isError, true);
      assert.match(textOf(result), /exit.{1,10}4/, 'text');
      assert.match(textOf(result), /oops/, 'text');
      assert.match(JSON.stringify(result.structuredContent), /exit.{1,10}4/, 'structured content');
      assert.match(JSON.stringify(result.structuredContent), /oops/, 'structured content');
    },
  },
];

const SYSTEM_FIELDS = [
  'platform', 'system', 'release', 'version', 'machine', 'processor', 'cpu_count', 'memory', 'uptime', 'hostname',
  'cwd', 'user', 'go_version', 'runtime_version',
];

const system = [
  {
    tool: 'system_info', name: 'fields', args: {},
    check(answer, world) {
      const data = dataOf(answer);
      for (const field of SYSTEM_FIELDS) assert.ok(field in data, `${field} in ${Object.keys(data)}`);
      assert.equal(data.cwd, world.work);
      assert.ok(Number.isInteger(data.cpu_count) && data.cpu_count > 0, `cpu_count ${data.cpu_count}`);
    },
  },
  { tool: 'disk_info', name: 'has data', args: {}, check: hasList },
  { tool: 'network_info', name: 'has data', args: {}, check: hasList },
];

function hasList(answer) {
  assert.ok(Object.values(dataOf(answer)).some(Array.isArray), 'structured content holds a list');
}

const PAGED = 'seq 1 20000';
const paged = Array.from({ length: 20_000 }, (_, i) => `${i + 1}`).join('\n');

const large = [
  {
    tool: 'read_large_result', name: 'unknown id', args: { id: 'no-such-id' },
    check: (answer) => badNews(answer),
  },
  {
    tool: 'bash', name: 'a large result is cut and paged', args: { command: PAGED }, sees: 'state',
    async check(answer, world, session) {
      const text = textOf(success(answer));
      assert.ok([...text].length < 41_000, `cut to about 40,000 characters, got ${[...text].length}`);
      const next = /read_large_result\b[^]*?\bid\W+([\w-]+)/.exec(text.slice(-600));
      assert.ok(next, `the end holds the next call:\n${text.slice(-600)}`);
      assert.equal((await pages(session, next[1])).replace(/\n$/, ''), paged);
    },
  },
];

// pages reads a kept result from its first page to the one after its last, which
// is refused, and joins them: the first block of an answer is the page and nothing else.
async function pages(session, id) {
  let whole = '';
  for (let page = 1; page < 100; page++) {
    const answer = await session.call('read_large_result', { id, page });
    if (page > 1 && answer.result?.isError) {
      badNews(answer);
      return whole;
    }
    whole += success(answer).content[0].text;
  }
  throw new Error('more than 99 pages');
}

export const CASES = [...echo, ...fileCases, ...shell, ...system, ...webCases, ...large];

// TOOLS are the names a server with nothing switched off lists.
export const TOOLS = [...new Set(CASES.map((c) => c.tool))].sort();
