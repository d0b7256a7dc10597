// Requests the SDKs' clients make: their answers, their deadline, and lists of
// more than one page.

import assert from 'node:assert/strict';

export const CALL_MS = 20_000;

// The SDKs give their own complaints codes of the protocol too, so that a result
// they refuse looks like an error the server sent. It is told by its words.
export const OWN_COMPLAINT = /Request timed out|Connection closed|structured content|output schema/i;

// answerOf makes a request and returns {result}, or {error} if that is what the
// server sent. Whatever else goes wrong is thrown.
export async function answerOf(ServerError, request, signal) {
  try {
    return { result: await request() };
  } catch (error) {
    const sent = error instanceof ServerError && !OWN_COMPLAINT.test(error.message);
    if (!sent || signal?.aborted) throw error;
    const message = error.message.replace(/^MCP error -?\d+: /, '');
    return { error: { code: error.code, message, data: error.data } };
  }
}

// allPages calls list(params, options), a method of a client, for every page and
// joins what they hold as `member`.
export async function allPages(list, member) {
  const items = [];
  let cursor;
  do {
    const page = await list(cursor === undefined ? {} : { cursor }, { timeout: CALL_MS });
    assert.ok(page[member].length > 0, `no page of ${member} is empty`);
    items.push(...page[member]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return items;
}
