// What an answer must look like. A session's `call` returns an answer: either
// {result} or {error: {code, message, data}}.

import assert from 'node:assert/strict';

// resultOf is the result of a call that must not end in a protocol error.
export function resultOf(answer) {
  assert.ok(answer.result, `want a result, got the error ${JSON.stringify(answer.error)}`);
  for (const block of answer.result.content) {
    if (block.type === 'text') assert.equal(typeof block.text, 'string', 'a text block has its text');
  }
  return answer.result;
}

// success is the result of a call that went well.
export function success(answer) {
  const result = resultOf(answer);
  assert.ok(!result.isError, `want success, got isError: ${textOf(result)}`);
  return result;
}

// textOf joins the text blocks of a result.
export function textOf(result) {
  return result.content.filter((block) => block.type === 'text').map((block) => block.text).join('');
}

// dataOf is the structured content of a successful result. A client that sees
// only the text must find the same data there.
export function dataOf(answer) {
  const result = success(answer);
  assert.equal(typeof result.structuredContent, 'object', 'structured content is an object');
  assert.notEqual(textOf(result), '', 'the text is complete without the structured content');
  return result.structuredContent;
}

// textOnly is the text of a successful result that has no structured content.
export function textOnly(answer) {
  const result = success(answer);
  assert.equal(result.structuredContent, undefined, 'a long text is sent once, as text');
  return textOf(result);
}

// badNews checks a result for the model: isError, the reason as text, and the
// same reason in the error envelope.
export function badNews(answer, type = /^[a-z][a-z0-9_]*$/) {
  const result = resultOf(answer);
  assert.equal(result.isError, true, `want isError, got ${JSON.stringify(result).slice(0, 400)}`);
  const envelope = result.structuredContent;
  assert.ok(envelope, 'an isError result has the error envelope as structured content');
  assert.equal(envelope.is_error, true, 'is_error');
  assert.match(envelope.error_type, type, 'error_type');
  assert.ok(envelope.message, 'message');
  assert.ok(envelope.next_action_hint, 'next_action_hint');
  assert.ok(textOf(result).includes(envelope.message),
    `the text holds the message\ntext:    ${textOf(result)}\nmessage: ${envelope.message}`);
  return { text: textOf(result), envelope };
}

// protocolError checks a JSON-RPC error. Sessions that show the message alone
// (`sees.data` is false) are not asked for the data.
export function protocolError(session, answer, want) {
  assert.ok(answer.error, `want error ${want.code}, got ${JSON.stringify(answer.result)?.slice(0, 400)}`);
  const { code, message, data } = answer.error;
  assert.equal(code, want.code, `code (message: ${message})`);
  assert.match(message, want.message);
  if (code === -32001) assert.doesNotMatch(message, /timed out/i, 'SDK v1 gives its own timeout this code');
  if (!session.sees.data) return;
  assert.ok(data, `error ${code} has data (message: ${message})`);
  assert.equal(data.error_type, want.type, 'data.error_type');
  assert.equal(data.tool, want.tool, 'data.tool');
  assert.ok(data.next_action_hint, 'data.next_action_hint');
  want.data?.(data);
}

// asSent is an answer with its error as the server sent it. Client 2.x replaces
// the code and the data of errors that it has classes of its own for.
export function asSent(session, answer) {
  const sent = session.errors.findLast((error) => error.message === answer.error?.message);
  return sent ? { error: sent } : answer;
}

// failureResult checks what protocolError checks, for a server told to answer
// failures as results.
export function failureResult(answer, want) {
  const { envelope } = badNews(answer, new RegExp(`^${want.type}$`));
  assert.equal(envelope.code, want.code, 'code');
  assert.match(envelope.message, want.message);
  want.data?.(envelope.data ?? {});
}
