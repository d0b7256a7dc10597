// What the model asks for, step by step. Each step asserts what holds for every client, and returns what differs between
// them: the cell of its row in docs/clients/behaviour.md, which the test compares.
//
// A step is given the turn: call(tool, input), which asks for a call and returns what it has brought the model, rest(), which lets
// others run during a long one, ask(), which yields something else to the model's script, the tools that the model was last shown, what it
// was last notified of, what client and server have sent, permit(), and change(), which changes the server's configuration.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { until } from '../spawn.mjs';
import { END } from './model.mjs';

export const TEXT = 'é "quoted" <b> & \u{1d11e}\nand a second line';


/** What a client puts around a text: the text becomes …, and what differs from run to run a word. */
function around(result, text) {
  assert.ok(result, 'the call has brought something');
  assert.ok(result.text.includes(text), `the model is shown ${JSON.stringify(result.text.slice(0, 500))}, not ${JSON.stringify(text.slice(0, 100))}`);
  return quote(result.text.replace(text, '…'), result.failed);
}

function quote(text, failed) {
  const plain = text.replace(/\d+\.\d+ seconds/g, 'N seconds').replaceAll('\n', '⏎').replaceAll('|', '\\|');
  const fence = plain.includes('`') ? '``' : '`';
  return `${plain === '…' ? 'as it is' : fence + plain + fence}${failed ? ', marked as failed' : ''}`;
}

/** What a client makes of an answer of the server, whose text or message becomes …, and its data DATA. */
function made(t, result) {
  const { result: sent, error } = t.notes().findLast(({ from, message }) => from === 'server' && (message?.result?.content || message?.error)).message;
  const said = sent ? sent.content.map(({ text }) => text).join('') : error.message;
  const data = sent ? sent.structuredContent : error.data;
  const plain = data ? result.text.replace(JSON.stringify(data), 'DATA') : result.text;
  return quote(t.plain([said, JSON.stringify(said).slice(1, -1)].reduce((text, part) => text.replaceAll(part, '…'), plain)), result.failed);
}

/** A refusal, with what a client makes of it. */
function refused(t, result, what) {
  assert.match(result.text, what, `the model is told why: ${result.text}`);
  return made(t, result);
}

const sorted = (set) => [...set].sort();

/** The keywords of schemas. */
function keywords(schema, all = new Set()) {
  if (Array.isArray(schema)) for (const one of schema) keywords(one, all);
  else if (schema && typeof schema === 'object') {
    for (const [key, value] of Object.entries(schema)) {
      if (key === 'properties' || key === '$defs') for (const one of Object.values(value)) keywords(one, all);
      else { all.add(key); if (!['enum', 'const', 'default', 'examples', 'required'].includes(key)) keywords(value, all); }
    }
  }
  return all;
}

/** What was asked of the person, and what the client has answered for them. */
function asked(notes) {
  const cells = new Set();
  for (const { from, message } of notes) {
    if (from !== 'server') continue;
    const one = (mode, id, inside) => {
      const answer = notes.find(({ from: by, message: m }) => by === 'client' && m?.id === id && (m.result || m.error))?.message
        ?? notes.map(({ message: m }) => m?.params?.inputResponses).find((all) => inside && all && inside in all);
      const said = inside ? answer?.params?.inputResponses?.[inside] ?? answer?.[inside] : answer?.result ?? answer?.error;
      cells.add(`asked (${mode}); ${said ? `answers ${JSON.stringify(said.action ?? said)}` : 'does not answer'}`);
    };
    if (message.method === 'elicitation/create') one(message.params.mode ?? 'form', message.id);
    for (const [key, { method, params }] of Object.entries(message.result?.inputRequests ?? {})) if (method === 'elicitation/create') one(params.mode ?? 'form', undefined, key);
  }
  return cells.size ? sorted(cells).join(' and ') : 'not asked';
}

/** The processes whose command line has a word. */
export const running = (word) => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
  try { return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word) && readFileSync(`/proc/${pid}/comm`, 'utf8') === 'sleep\n'; } catch { return false; }
});

/** Waits until no process has a word in its command line. */
export const gone = (word) => until(10_000, `sleep ${word} has ended`, () => running(word).length === 0);

/** The task that a call has become, by the names that the client and the server have for it, or undefined. */
export function taskOf(t, result) {
  const [, id, local] = (t.client.tasks && result.text.match(/started server-side task ([\w-]+)(?:\. It was moved to|, running in) the background as task (\w+)/)) || [];
  return id && { id, local };
}

/** The requests of a method about a task. */
function about(t, id, method) {
  const all = t.notes().filter(({ message }) => message?.method === method && message.params.taskId === id);
  for (const { headers } of all) if (headers) assert.equal(headers['mcp-name'], id);
  return all;
}

/** Waits, between turns, until the client tells its model how a task has ended. */
async function* told(t, { local }) {
  for (;;) {
    const text = t.notified.find((one) => one.includes(`<task-id>${local}</task-id>`));
    if (text) return text;
    yield* t.ask(END);
  }
}

/** What a call has brought in the end: its result, or what the client tells of its task. */
export async function* outcome(t, tool, input) {
  const result = yield* t.call(tool, input);
  const task = taskOf(t, result);
  return task ? { ...result, text: yield* told(t, task), task, at: result.text } : result;
}

/** Asks for a call of a tool with `confirm`, about which the client may ask before it makes it. */
async function* confirmed(t, tool, input) {
  const first = t.permit(tool);
  first.catch(() => {}); // is thrown below
  return { result: yield* t.call(tool, input), first: await first };
}

async function* unconfirmed(t, tool, input) {
  return { result: yield* t.call(tool, input), first: '' };
}

/** Has the model stop a task, whose command has a word in its command line, and returns what it is told. */
export async function* stopped(t, result, word) {
  const { id, local } = taskOf(t, result);
  const { text } = yield* t.ask({ name: 'TaskStop', input: { task_id: local } });
  await until(10_000, 'the client cancels the task', () => about(t, id, 'tasks/cancel').length);
  await gone(word);
  return text;
}

export const STEPS = {
  'Text': async function* (t) {
    return around(yield* t.call('echo', { message: TEXT }), `Echo: ${TEXT}`);
  },
  'Tools': async function* (t) {
    const shown = new Map(t.tools.map((tool) => [tool.name, tool]));
    const missing = t.offered.filter(({ name }) => !shown.has(t.client.name(name))).map(({ name }) => name);
    assert.deepEqual(missing, [], 'tools that the model is not shown');
    const first = t.offered[0].name;
    return `all; \`${t.client.space ? `${t.client.space}.` : ''}${t.client.name(first)}\``;
  },
  'Their descriptions': async function* (t) {
    const cells = new Set();
    for (const { name, description } of t.offered) {
      const theirs = t.tools.find((tool) => tool.name === t.client.name(name)).description;
      assert.ok(theirs.includes(description.slice(0, 300)), `the description of ${name} is shown as ${theirs}`);
      cells.add(theirs === description ? 'as they are' : theirs.includes(description) ? `\`${theirs.replace(description, '…').replace(name, 'NAME').replaceAll('\n', '⏎')}\`` : `cut after ${theirs.length}`);
    }
    return sorted(cells).join('; ');
  },
  'Their schemas': async function* (t) {
    const lost = new Set();
    const more = new Set();
    const added = new Set();
    for (const { name, inputSchema } of t.offered) {
      const theirs = t.tools.find((tool) => tool.name === t.client.name(name)).schema;
      const [a, b] = [keywords(inputSchema), keywords(theirs)];
      for (const key of a) if (!b.has(key)) lost.add(key);
      for (const key of b) if (!a.has(key)) more.add(key);
      const [ours, shown] = [inputSchema, theirs].map(({ properties = {} }) => Object.keys(properties));
      assert.deepEqual(ours.filter((argument) => !shown.includes(argument)), [], `arguments of ${name} that the model is not shown`);
      for (const argument of shown) if (!ours.includes(argument)) added.add(argument);
    }
    const list = (set) => sorted(set).map((key) => `\`${key}\``).join(' ');
    return [lost.size && `without ${list(lost)}`, more.size && `with ${list(more)}`, added.size && `with an argument more, ${list(added)}`].filter(Boolean).join('; ') || 'all keywords';
  },
  'Structured content of another server': async function* (t) {
    const result = yield* t.call('up__structured', {});
    const text = result.text.includes('As text.');
    const data = result.text.includes('4711');
    assert.ok(text || data, result.text);
    return text && data ? 'text and data' : text ? 'text only' : 'data only';
  },
  'Progress': async function* (t) {
    const mark = t.notes().length;
    const result = yield* t.call('up__progress', {});
    const notes = t.notes().slice(mark);
    const { _meta } = notes.find(({ message }) => message?.method === 'tools/call').message.params;
    const told = notes.filter(({ from, message }) => from === 'server' && message?.method === 'notifications/progress');
    if (_meta?.progressToken === undefined) {
      assert.match(result.text, /nobody to report to/);
      return 'no token';
    }
    assert.deepEqual(told.map(({ message: { params } }) => [params.progressToken, params.progress, params.total, params.message]), [1, 2, 3, 4].map((n) => [_meta.progressToken, n, 4, `step ${n}`]));
    assert.match(result.text, /reported/);
    return `asks for it; ${result.text.includes('step') ? 'the model sees it' : 'the model does not see it'}`;
  },
  'Refusal by the policy': async function* (t) {
    return refused(t, yield* t.call('read_file', { path: '/etc/shadow' }), /etc\/shadow/);
  },
  'Wrong arguments: a protocol error': async function* (t) {
    return refused(t, yield* t.call('echo', { wrong: true }), /message|additional/);
  },
  'Question to the person (`confirm`)': async function* (t) {
    const mark = t.notes().length;
    const { result, first } = yield* confirmed(t, 'create_directory', { path: 'agreed' });
    const cell = first + asked(t.notes().slice(mark));
    assert.equal(existsSync(join(t.work, 'agreed')), cell.includes('"accept"'), `it is done if somebody has agreed: ${cell}`);
    return `${cell}; ${refused(t, result, /./)}`;
  },
  'Question of another server': async function* (t) {
    const mark = t.notes().length;
    const result = yield* t.call('up__ask', {});
    return `${asked(t.notes().slice(mark))}; ${made(t, result)}`;
  },
  'Sign-in': async function* (t) {
    const mark = t.notes().length;
    const result = yield* t.call('gmail_search', { query: 'x' });
    const cell = asked(t.notes().slice(mark));
    if (/ADDRESS/.test(t.plain(result.text))) return `${cell}; the model is shown the address`;
    return `${cell}; ${refused(t, result, /sign/)}`;
  },
  'Image': async function* (t) {
    const result = yield* t.call('read_file', { path: 'picture.png' });
    assert.ok(result.images.length <= 1);
    return result.images.length ? `as an image (${result.images[0]})` : `not as an image: ${quote(result.text.slice(0, 200), result.failed)}`;
  },
  'The first page of 200 KB': async function* (t) {
    const { text } = yield* t.call('read_file', { path: 'large.txt' });
    const lines = Number(text.match(/\[Showed lines 1-(\d+) of 2000/)?.[1]);
    const page = readFileSync(join(t.work, 'large.txt'), 'utf8').split('\n').slice(0, lines).join('\n');
    assert.ok(page.length > 39_000, `a page of ${page.length} characters`);
    return cut(t, text, page);
  },
  'Change of the list': async function* (t) {
    const name = t.client.name('up__grown');
    assert.ok(!t.tools.some((tool) => tool.name === name));
    const mark = t.notes().length;
    yield* t.call('up__grow', {});
    // The server tells clients of the change; those that ask for the list then do so at once.
    const again = () => t.notes().slice(mark).some(({ from, message }) => from === 'server' && message?.result?.tools?.some((tool) => tool.name === 'up__grown'));
    const listens = t.notes().some(({ method, message }) => method === 'GET' || message?.method === 'subscriptions/listen' || (!method && message?.method === 'initialize'));
    if (listens) await until(10_000, 'the server tells of the change', () => t.notes().slice(mark).some(({ from, message }) => from === 'server' && message?.method === 'notifications/tools/list_changed'));
    const asks = await until(3000, '', again).catch(() => false);
    for (let calls = 0; calls < (asks ? 10 : 2) && !t.tools.some((tool) => tool.name === name); calls++) yield* t.call('echo', { message: 'after the change' });
    if (!t.tools.some((tool) => tool.name === name)) {
      return asks ? 'asks for the list again, but does not show the model the new tool in this turn' : listens ? 'is told, and does not ask for the list again' : 'does not ask to be told';
    }
    around(yield* t.call('up__grown', {}), 'I am new.');
    return 'asks for the list again; the model can call the new tool in this turn';
  },
  'Tool that is taken away': async function* (t) {
    const name = t.client.name('network_info');
    assert.ok(t.tools.some((tool) => tool.name === name));
    const mark = t.notes().length;
    await t.change((config) => { config.tools.network_info = { enabled: false }; });
    const asks = await until(3000, '', () => t.notes().slice(mark).some(({ from, message }) => from === 'server' && message?.result?.tools)).catch(() => false);
    const sent = () => t.notes().filter(({ message }) => message?.method === 'tools/call' && message.params.name === 'network_info').length;
    for (let calls = 0; calls < 2; calls++) yield* t.call('echo', { message: 'after the change' });
    if (!t.tools.some((tool) => tool.name === name)) return 'is not shown any more';
    let result;
    for (let calls = 0, before; calls < (asks ? 10 : 1) && before !== sent(); calls++) { // until the client has made use of the list
      before = sent();
      result = yield* t.call('network_info', {});
    }
    return `is shown in this turn; a call brings ${made(t, result)}`;
  },
  'Wrong arguments: a result (`--errors result`)': async function* (t) {
    await t.change((config) => { config.errors = 'result'; config.limits = { max_result_chars: 300_000 }; });
    return refused(t, yield* t.call('echo', { wrong: true }), /message|additional/);
  },
  '200 KB at once (`max_result_chars: 300000`)': async function* (t) {
    const whole = readFileSync(join(t.work, 'large.txt'), 'utf8');
    // The list says to Claude Code how long results may be, which it then asks for again, and makes use of some calls later.
    const said = () => t.notes().flatMap(({ message }) => message?.result?.tools ?? []).map(({ _meta }) => _meta?.['anthropic/maxResultSizeChars'] ?? 0);
    const hinted = said().some((length) => length > 0);
    if (hinted) await until(20_000, 'the client asks for the list again', () => said().some((length) => length > 200_000));
    let result;
    for (let calls = 0; calls < (hinted ? 10 : 1) && !result?.text.includes(whole); calls++) result = yield* t.call('read_file', { path: 'large.txt' });
    return cut(t, result.text, whole);
  },
};

/** How much of a long text the model is shown, and what it is told instead of the rest. */
function cut(t, shown, whole) {
  const longest = (part) => { // how many characters, of those that part() returns, are shown together
    let [least, most] = [0, whole.length];
    while (least < most) {
      const middle = Math.ceil((least + most) / 2);
      if (shown.includes(part(middle))) least = middle; else most = middle - 1;
    }
    return least;
  };
  const first = longest((n) => whole.slice(0, n));
  if (first === whole.length) return 'whole';
  const last = longest((n) => whole.slice(whole.length - n));
  const number = (n) => (Math.round(n / 100) * 100).toLocaleString('en');
  const rest = t.plain([whole.slice(0, first), whole.slice(whole.length - last)].filter((part) => part.length > 100).reduce((text, part) => text.replace(part, '…'), shown));
  return `${first > 100 ? `the first ${number(first)}` : 'none'}${last > 100 ? ` and the last ${number(last)}` : ''} of ${number(whole.length)} characters: ${quote(rest.length > 400 ? `${rest.slice(0, 400)} [and so on]` : rest)}`;
}

/** What the model is shown of a call whose result has a text: at once and, if it has become a task, when that has ended. */
function becomes(t, result, text) {
  const shown = around({ ...result, text: t.plain(result.text) }, text);
  if (!result.task) return shown;
  assert.ok(about(t, result.task.id, 'tasks/get').length, 'the client has looked at the task');
  return `${quote(t.plain(result.at), result.failed)}, and when it has ended ${shown}`;
}

/** The steps of a client that takes tasks. */
export const TASKS = {
  'Command in the background (`background: true`), as a task': async function* (t) {
    const result = yield* t.call('bash', { command: 'until [ -e go ]; do sleep 0.2; done; echo went', background: true });
    const task = taskOf(t, result);
    assert.ok(task, `is a task at once: ${result.text}`);
    around(yield* t.call('echo', { message: TEXT }), `Echo: ${TEXT}`); // meanwhile
    assert.deepEqual(t.notified, [], 'what is told before the command has ended');
    writeFileSync(join(t.work, 'go'), '');
    return becomes(t, { ...result, text: yield* told(t, task), task, at: result.text }, 'went');
  },
  'Long call of another server, as a task': async function* (t) {
    return becomes(t, yield* outcome(t, 'up__slow', {}), 'Slow and steady.');
  },
  'Task that the model stops': async function* (t) {
    const result = yield* t.call('bash', { command: `sleep ${t.mark.canceled}`, background: true });
    await until(10_000, 'the command runs', () => running(t.mark.canceled).length === 1);
    return `sends \`tasks/cancel\`; ${quote(t.plain(yield* stopped(t, result, t.mark.canceled)))}`;
  },
};

/** The steps of a turn that lasts. */
export const LONG = {
  'Call of 90 s': async function* (t) {
    const result = yield* t.rest(outcome(t, 'bash', { command: 'sleep 90.125 && echo slept', timeout: 120 }));
    return becomes(t, result, 'slept');
  },
  'Both questions, with a hook that answers (Claude Code) or with full access (Codex)': async function* (t) {
    if (!t.elicit) return undefined;
    const cells = [];
    for (const [ask, tool, input] of [[confirmed, 'create_directory', { path: 'agreed' }], [unconfirmed, 'up__ask', {}]]) {
      const mark = t.notes().length;
      const { result, first } = yield* ask(t, tool, input);
      const cell = first + asked(t.notes().slice(mark));
      if (tool === 'create_directory') assert.equal(existsSync(join(t.work, 'agreed')), cell.includes('"accept"'), `it is done if somebody has agreed: ${result.text}`);
      cells.push(cell);
    }
    return `\`confirm\`: ${cells[0]}<br>another server: ${cells[1]}`;
  },
  'Interruption of a call (SIGINT; Escape at a terminal)': async function* (t) {
    const mark = t.notes().length;
    const ended = until(60_000, 'the command runs', () => running(t.mark.canceled).length).then(() => t.interrupt());
    yield* t.call('bash', { command: `sleep ${t.mark.canceled}`, timeout: 290 });
    await ended;
    return undefined;
  },
};
