// A model on loopback that is a script: it asks for calls of tools, one after the other, and notes what it is shown.

import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';

import { WIRES } from './wires.mjs';

/** What a script yields to wait until the client tells its model something. */
export const END = {};

/**
 * Starts a model for one conversation. The script is an async generator, which is given the first request,
 * {tools, result, notified}. It yields calls, {name, input}, or END, which ends a turn after which the client begins another, and is given the
 * request that follows each. It returns when the last turn is to end. Requests without tools, with which clients have titles made, are answered at once.
 */
export async function startModel(wire, script) {
  const { path, read, write } = WIRES[wire];
  const model = { failure: undefined, over: false };
  let play;
  let begun = -1; // results and notifications that the script was given
  let step; // its answer to them
  const server = createServer(async (incoming, response) => {
    let text = '';
    for await (const chunk of incoming) text += chunk;
    if (process.env.TURNS_DUMP) appendFileSync(process.env.TURNS_DUMP, `${incoming.method} ${incoming.url} ${text}\n`);
    if (!path.test(incoming.url)) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"input_tokens":1,"totalTokens":1,"data":[],"models":[],"has_more":false}');
      return;
    }
    const body = JSON.parse(text);
    const { tools, results, notified = [] } = read(body);
    if (!tools.length) return write(response, undefined, body, incoming.url);
    if (results.length + notified.length > begun) { // not a repetition
      begun = results.length + notified.length;
      const request = { tools, result: results.at(-1), notified };
      play ??= script(request);
      step = play.next(request).then(({ value, done }) => {
        if (!done) return value === END ? undefined : { id: `call_${begun}`, ...value };
        setTimeout(() => { model.over = true; }, 1000); // when the answer has been read
        return undefined;
      });
      step.catch((error) => { model.failure ??= error; model.over = true; });
    }
    return write(response, await step.catch(() => undefined), body, incoming.url);
  });
  server.keepAliveTimeout = 0;
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  model.url = `http://127.0.0.1:${server.address().port}`;
  model.close = () => { server.closeAllConnections(); server.close(); };
  return model;
}
