// The five ways in which a call fails rather than answers, and what stands for
// each: a JSON-RPC error, or under `errors: result` an isError result.

import assert from 'node:assert/strict';

import { failureResult, protocolError } from './expect.mjs';

// DISABLED is switched off in the configuration of the server under test.
export const DISABLED = 'disk_info';

// A failure is {name, call: [tool, arguments], want}; `sees` as in a case.
export const PRODUCT_FAILURES = [
  {
    name: 'unknown tool', call: ['no_such_tool', {}],
    want: { code: -32001, type: 'tool_not_found', tool: 'no_such_tool', message: /no tool "no_such_tool"/ },
  },
  {
    name: 'disabled tool', call: [DISABLED, {}],
    want: { code: -32004, type: 'tool_disabled', tool: DISABLED, message: /disk_info/ },
  },
  {
    name: 'missing argument', call: ['read_file', {}],
    want: invalid('read_file', 'path', /path/),
  },
  {
    name: 'unknown argument', call: ['read_file', { path: 'notes.txt', ofset: 1 }],
    want: invalid('read_file', 'ofset', /ofset[^]*\boffset\b/),
  },
  {
    name: 'wrong type', call: ['read_file', { path: 'notes.txt', offset: 'two' }], sees: 'types',
    want: invalid('read_file', 'offset', /offset/),
  },
  {
    name: 'argument of a tool with an output schema', call: ['write_file', { path: 'x.txt' }],
    want: invalid('write_file', 'content', /content/),
  },
];

export const FIXTURE_FAILURES = [
  {
    name: 'time limit', call: ['fixture_sleep', { seconds: 30 }],
    want: {
      code: -32006, type: 'timeout', tool: 'fixture_sleep', message: /\b1 ?s/,
      data: (data) => assert.equal(data.timeout_s, 1, 'data.timeout_s'),
    },
  },
  {
    name: 'panic', call: ['fixture_panic', {}],
    want: { code: -32005, type: 'execution_failed', tool: 'fixture_panic', message: /fixture_panic/ },
  },
];

function invalid(tool, field, message) {
  return {
    code: -32602, type: 'invalid_arguments', tool, message,
    data(data) {
      assert.ok(Array.isArray(data.fields), `data.fields is a list in ${JSON.stringify(data)}`);
      assert.ok(JSON.stringify(data.fields).includes(`"${field}"`), `data.fields names ${field}: ${JSON.stringify(data.fields)}`);
    },
  };
}

// runFailures makes every call and checks it for the mode the server is in.
export async function runFailures(group, session, mode, failures) {
  for (const { name, call, want, sees } of failures) {
    if (sees && !session.sees[sees]) continue;
    await group.test(name, async () => {
      const answer = await session.call(...call);
      if (mode === 'jsonrpc') protocolError(session, answer, want);
      else failureResult(answer, want);
    });
  }
}
