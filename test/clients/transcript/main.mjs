// What a model's work costs in tokens of answers:
//
//   node transcript/main.mjs TOOLSERVER [--record NAME] [--docs FILE]
//
// Does the tasks with a server, and compares the tokens and calls with those that were
// recorded of an earlier one. --record records this one instead, under a name. --docs replaces the
// table in a document. Ends with status 1 if a task takes more calls than before, or
// all together more than half of the tokens of text.

import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

import { makeProject, servePages } from './project.mjs';
import { next, tasks } from './tasks.mjs';

const RECORD = fileURLToPath(new URL('recorded.json', import.meta.url));
const MOST_CALLS = 20;
const MARKS = ['<!-- transcript -->', '<!-- end of transcript -->'];

const { positionals: [binary], values } = parseArgs({ allowPositionals: true, options: { record: { type: 'string' }, docs: { type: 'string' } } });

const project = await makeProject();
const site = await servePages();
const config = join(project.root, 'toolserver.yaml');
await writeFile(config, JSON.stringify({ working_directory: project.work, sandbox: { private_hosts: [site.host] } }));
const client = new Client({ name: 'transcript', version: '1.0.0' });
await client.connect(new StdioClientTransport({
  command: resolve(binary), args: ['serve', '--stdio', '--config', config], stderr: 'ignore', env: { PATH: process.env.PATH, HOME: project.root },
}));
const done = [];
try {
  const { tools } = await client.listTools();
  const has = (call) => typeof call === 'function' || tools.some((tool) => tool.name === call[0]);
  for (const task of tasks({ site: site.url })) {
    const calls = task.before && !(task.calls.every(has) && takes(tools, task.calls[0])) ? task.before : task.calls;
    done.push({ group: task.group, name: task.name, ...await work(calls, task.all) });
  }
} finally {
  await client.close();
  site.stop();
  await project.remove();
}

// takes says whether a tool has the arguments of a call.
function takes(tools, [name, args]) {
  const { properties } = tools.find((tool) => tool.name === name).inputSchema;
  return Object.keys(args).every((key) => key in properties);
}

async function work(calls, all) {
  const answers = [];
  const queue = [...calls];
  while (queue.length > 0 && answers.length < MOST_CALLS) {
    const call = queue.shift();
    const [name, args] = typeof call === 'function' ? call(answers) : call;
    answers.push(await answer(name, args));
    const on = all && queue.length === 0 && next(answers);
    if (on) queue.push(on);
  }
  const sum = (key) => answers.reduce((total, one) => total + one[key], 0);
  return { calls: answers.length, tokens: sum('tokens'), structured: sum('structured') };
}

// answer is what a model gets to read: the text and, in clients that show that instead,
// the structured content.
async function answer(name, args) {
  let text, data;
  try {
    const result = await client.callTool({ name, arguments: args });
    text = result.content.map((block) => block.text ?? '').join('\n');
    data = result.structuredContent;
  } catch (error) {
    text = error.message;
  }
  if (process.env.SHOW) console.log(`--- ${name} ${JSON.stringify(args)}\n${text.slice(0, Number(process.env.SHOW))}`);
  const tokens = countTokens(text);
  return { call: { name, args }, text, data, tokens, structured: data ? countTokens(JSON.stringify(data)) : tokens };
}

if (values.record) {
  await writeFile(RECORD, `${JSON.stringify({ version: values.record, tasks: done }, null, 1)}\n`);
  process.exit(0);
}
const recorded = JSON.parse(await readFile(RECORD, 'utf8'));
const number = (n) => n.toLocaleString('en');
const rows = [];
const problems = [];
const totals = { before: { calls: 0, tokens: 0, structured: 0 }, now: { calls: 0, tokens: 0, structured: 0 } };
for (const [i, now] of done.entries()) {
  const before = recorded.tasks[i];
  if (before?.name !== now.name) throw new Error(`recorded are other tasks: ${before?.name} instead of ${now.name}`);
  for (const key of Object.keys(totals.now)) {
    totals.before[key] += before[key];
    totals.now[key] += now[key];
  }
  if (now.calls > before.calls) problems.push(`${now.name}: ${now.calls} calls instead of ${before.calls}`);
  rows.push(row(now.group, now.name, before, now));
}
rows.push(row('', `all ${done.length}`, totals.before, totals.now));
if (totals.now.tokens * 2 > totals.before.tokens) problems.push(`${totals.now.tokens} tokens are more than half of ${totals.before.tokens}`);
function row(group, name, before, now) {
  const pair = (key) => `${number(before[key])} | ${number(now[key])}`;
  return `| ${group} | ${name} | ${pair('calls')} | ${pair('tokens')} | ${pair('structured')} |`;
}
const table = [`| | task | calls at ${recorded.version} | calls | tokens of text at ${recorded.version} | tokens | of structured content at ${recorded.version} | tokens |`, '|---|---|---|---|---|---|---|---|', ...rows].join('\n');
console.log(table);
if (values.docs) {
  const text = await readFile(values.docs, 'utf8');
  const [from, to] = MARKS.map((mark) => text.indexOf(mark));
  if (from < 0 || to < from) throw new Error(`${values.docs} has no ${MARKS.join(' ... ')}`);
  await writeFile(values.docs, `${text.slice(0, from)}${MARKS[0]}\n${table}\n${text.slice(to)}`);
}
for (const problem of problems) console.log(`FAIL ${problem}`);
process.exit(problems.length > 0 ? 1 : 0);
