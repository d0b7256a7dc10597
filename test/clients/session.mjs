// The shape every client has for the tests:
//   sees      {data, progress, everyProgress, cancel, state, types, completion,
//             changes}: what it can show or do
//   modern    whether it speaks the era without a handshake
//   problems  what the client complained about: stray or malformed messages
//   wire      "progress" and "answer" for each such message, as they came
//   errors    what the server sent as errors, as it came
//   list()    every tool, in the order the server sent them
//   call(name, arguments, {onprogress, signal})   -> {result} or {error}
//   info()    {protocol, wanted, server, instructions} of the handshake
//   log()     the last lines the server logged
//   close()   ends the session; for stdio, the server
// and what offers.mjs says of resources and prompts.

import { openOffers } from './offers.mjs';
import { CALL_MS, allPages, answerOf } from './requests.mjs';
import { Tail, adopt, alive, until } from './spawn.mjs';

const EXIT_MS = 1_800; // less than the grace after which the SDKs send SIGTERM

// openSession connects a client of either TypeScript SDK. `facts` holds what
// differs: how to call a tool, to hear of updates and to be asked, the class of
// the errors a server sends, and the protocol revision the handshake must end
// with. If the target has a person, the person answers the server's questions.
export async function openSession({ target, client, transport, facts }) {
  const tail = new Tail(transport.stderr);
  const log = () => target.log?.() ?? tail.text;
  const problems = [];
  const wire = [];
  const errors = [];
  let protocol;
  client.onerror = (error) => problems.push(error.message);
  transport.onmessage = (message) => { // the SDKs call it before their own
    wire.push(...kindOf(message));
    if (message.error) errors.push(message.error);
    protocol = message.result?.protocolVersion ?? protocol;
  };
  const offers = openOffers(client, facts);
  if (target.person) facts.onQuestion(client, ({ params }) => target.person.answer(params));
  await connect(client, transport, log);
  const child = transport.pid ? adopt(transport.pid) : undefined;
  return {
    sees: {
      data: true, progress: true, cancel: true, state: true, types: true, completion: true, changes: true,
      everyProgress: target.transport === 'http',
    },
    modern: facts.modern,
    problems,
    wire,
    errors,
    ...offers,
    list: () => allPages((...args) => client.listTools(...args), 'tools'),
    call: (name, args, options) => answerOf(facts.ServerError,
      () => facts.callTool(client, { name, arguments: args }, { timeout: CALL_MS, ...options }), options?.signal),
    info: () => ({
      protocol: client.getNegotiatedProtocolVersion?.() ?? protocol,
      wanted: facts.wanted,
      server: client.getServerVersion(),
      instructions: client.getInstructions(),
    }),
    log,
    close: () => close(client, transport, child),
  };
}

async function connect(client, transport, log) {
  try {
    await client.connect(transport, { timeout: CALL_MS });
  } catch (error) {
    error.message += `\nserver log: ${log()}`;
    await client.close().catch(() => {});
    throw error;
  }
}

function kindOf(message) {
  if (message.method === 'notifications/progress') return ['progress'];
  return 'result' in message || 'error' in message ? ['answer'] : [];
}

// close ends the client. A server on stdio must exit by itself when its input
// ends; the SDK would only later send signals.
async function close(client, transport, child) {
  const { pid } = transport;
  await transport.terminateSession?.();
  const closed = client.close();
  if (child) {
    await until(EXIT_MS, 'server exits at the end of its input', () => !alive(pid));
    child.release();
  }
  await closed;
}
