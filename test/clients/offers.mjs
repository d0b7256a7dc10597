// The part of a session that is about resources and prompts:
//   resources(), templates(), prompts()    every one, as the server sent them
//   read(uri)                              -> an answer: {result} or {error}
//   prompt(name, arguments)                -> an answer
//   complete(ref, argument, context)       -> an answer
//   setLevel(level)                        -> an answer; legacy era only
//   watch(uri)                             -> an answer; its result is {granted, stop()}
//   updates                                URIs the server said have changed, as it said so

import { CALL_MS, allPages, answerOf } from './requests.mjs';

// openOffers adds to a client of either TypeScript SDK. Of `facts`, it needs the
// class of the errors a server sends, whether the era is the modern one, and how
// to hear of updates.
export function openOffers(client, facts) {
  const options = { timeout: CALL_MS };
  const answer = (request) => answerOf(facts.ServerError, request);
  const updates = [];
  facts.onUpdated(client, ({ params }) => updates.push(params.uri));
  return {
    resources: () => allPages((...args) => client.listResources(...args), 'resources'),
    templates: () => allPages((...args) => client.listResourceTemplates(...args), 'resourceTemplates'),
    prompts: () => allPages((...args) => client.listPrompts(...args), 'prompts'),
    read: (uri) => answer(() => client.readResource({ uri }, options)),
    prompt: (name, args) => answer(() => client.getPrompt({ name, arguments: args }, options)),
    complete: (ref, argument, context) => answer(() => client.complete({ ref, argument, context }, options)),
    setLevel: (level) => answer(() => client.setLoggingLevel(level, options)),
    watch: (uri) => answer(() => (facts.modern ? listen : subscribe)(client, uri, options)),
    updates,
  };
}

async function subscribe(client, uri, options) {
  await client.subscribeResource({ uri }, options);
  return { granted: true, stop: () => client.unsubscribeResource({ uri }, options) };
}

async function listen(client, uri, options) {
  const subscription = await client.listen({ resourceSubscriptions: [uri] }, options);
  return {
    granted: subscription.honoredFilter.resourceSubscriptions?.includes(uri) ?? false,
    async stop() {
      await subscription.close();
      const why = await subscription.closed;
      if (why !== 'local') throw new Error(`the subscription was ended from elsewhere: ${why}`);
    },
  };
}
