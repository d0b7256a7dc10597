// What clients and their models say to each other, one adapter per wire format.
//
// An adapter reads a request as {tools, results}: the tools that the model is shown, {name, description, schema}, and what
// the calls so far have brought, {text, images, failed, raw} each. It writes an answer that is either a call, {id, name, input},
// or the end of the turn.

import assert from 'node:assert/strict';

const END = 'That is all.';

const joined = (blocks) => blocks.map(({ text }) => text ?? '').join('');

/** Sends events of a stream; named ones where the format names them. */
function events(response, list, named) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of list) response.write(`${named ? `event: ${event.type}\n` : ''}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  response.end();
}

function document(response, value) {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

/** Anthropic's Messages, which Claude Code speaks. */
const messages = {
  path: /^\/v1\/messages(\?|$)/,
  read({ tools = [], messages: history = [] }) {
    const blocks = history.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    return {
      tools: tools.map(({ name, description, input_schema: schema }) => ({ name, description, schema })),
      results: blocks.filter(({ type }) => type === 'tool_result').map(({ content, is_error: failed }) => {
        const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content ?? [];
        return { text: joined(parts), images: parts.filter(({ type }) => type === 'image').map(({ source }) => source.media_type), failed: failed === true, raw: content };
      }),
      notified: history.flatMap(({ role, content }) => (role === 'assistant' ? [] : typeof content === 'string' ? [content] : content.map(({ text = '' }) => text)))
        .flatMap((text) => text.match(/<task-notification>.*?<\/task-notification>/gs) ?? []),
    };
  },
  write(response, call, { stream }) {
    const content = call ? { type: 'tool_use', id: call.id, name: call.name, input: call.input } : { type: 'text', text: END };
    const stop = call ? 'tool_use' : 'end_turn';
    const message = {
      id: 'msg', type: 'message', role: 'assistant', model: 'script', content: [content], stop_reason: stop, stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    };
    if (!stream) return document(response, message);
    return events(response, [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: call ? { ...content, input: {} } : { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: call ? { type: 'input_json_delta', partial_json: JSON.stringify(call.input) } : { type: 'text_delta', text: END } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 1 } }, { type: 'message_stop' },
    ], true);
  },
};

/** OpenAI's Responses, which Codex speaks. Tools of a server are together in a namespace. */
const responses = {
  path: /^\/v1\/responses(\?|$)/,
  read({ tools = [], input = [] }) {
    const one = (space) => ({ name, description, parameters: schema }) => ({ name, space, description, schema });
    return {
      tools: tools.flatMap((tool) => (tool.type === 'namespace' ? tool.tools.map(one(tool.name)) : tool.type === 'function' ? [one()(tool)] : [])),
      results: input.filter(({ type }) => type === 'function_call_output').map(({ output }) => {
        const parts = typeof output === 'string' ? [{ text: output }] : output ?? [];
        return { text: joined(parts), images: parts.filter(({ type }) => type === 'input_image').map(({ image_url: url }) => url.match(/^data:([^;]*)/)?.[1]), failed: false, raw: output };
      }),
    };
  },
  write(response, call) {
    const item = call
      ? { type: 'function_call', id: `fc_${call.id}`, call_id: call.id, name: call.name, ...(call.space && { namespace: call.space }), arguments: JSON.stringify(call.input) }
      : { type: 'message', id: 'msg', role: 'assistant', content: [{ type: 'output_text', text: END }] };
    const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2 };
    return events(response, [
      { type: 'response.created', response: { id: 'resp' } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id: 'resp', usage } },
    ], true);
  },
};

/** OpenAI's Chat Completions, which opencode speaks to providers that it does not know. */
const completions = {
  path: /^\/v1\/chat\/completions(\?|$)/,
  read({ tools = [], messages: history = [] }) {
    const results = [];
    for (const { role, content } of history) {
      const parts = typeof content === 'string' ? [{ text: content }] : content ?? [];
      if (role === 'tool') results.push({ text: joined(parts), images: [], failed: false, raw: content });
      // A result has text only, so images follow in a message of the user.
      else if (role === 'user' && results.length) results.at(-1).images.push(...parts.filter(({ type }) => type === 'image_url').map(({ image_url: { url } }) => url.match(/^data:([^;]*)/)?.[1]));
    }
    return { tools: tools.map(({ function: { name, description, parameters: schema } }) => ({ name, description, schema })), results };
  },
  write(response, call, { stream }) {
    assert.ok(stream, 'a stream is asked for');
    const chunk = (delta, finish = null) => ({ id: 'chat', object: 'chat.completion.chunk', created: 1, model: 'script', choices: [{ index: 0, delta, finish_reason: finish }] });
    return events(response, [
      chunk(call
        ? { role: 'assistant', tool_calls: [{ index: 0, id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.input) } }] }
        : { role: 'assistant', content: END }),
      { ...chunk({}, call ? 'tool_calls' : 'stop'), usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }, '[DONE]',
    ]);
  },
};

/** Google's generateContent, which Gemini CLI speaks. */
const content = {
  path: /^\/v1(beta)?\/models\/[^:]*:(stream)?[gG]enerateContent/,
  read({ tools = [], contents = [] }) {
    const results = [];
    for (const part of contents.flatMap(({ parts = [] }) => parts)) {
      if (part.functionResponse) {
        const { response, parts = [] } = part.functionResponse;
        results.push({ text: response.output ?? response.error ?? JSON.stringify(response), images: parts.flatMap((p) => p.inlineData?.mimeType ?? []), failed: response.error !== undefined, raw: part.functionResponse });
      } else if (part.inlineData && results.length) results.at(-1).images.push(part.inlineData.mimeType);
    }
    return { tools: tools.flatMap(({ functionDeclarations: all = [] }) => all.map(({ name, description, parametersJsonSchema, parameters }) => ({ name, description, schema: parametersJsonSchema ?? parameters }))), results };
  },
  write(response, call, body, url) {
    const part = call ? { functionCall: { id: call.id, name: call.name, args: call.input } } : { text: END };
    const answer = { candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 } };
    return url.includes('stream') ? events(response, [answer]) : document(response, answer);
  },
};

export const WIRES = { messages, responses, completions, content };
