// A server of skills that are not as they should be, on standard input and output, without an SDK:
//
//   node oddskills.mjs MODE
//
// Mode entries lists a good skill, and each member of an entry of each wrong kind; the others have one good skill, and one answer that is odd.

import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';

const WRONG = [null, true, 7, -1, 1.5, '', 'x', '../x', 'skill://other/SKILL.md', [], [7], [null], {}, { name: 7 }, undefined];
const TEXT = '---\nname: good\ndescription: Does it.\n---\n';

function entry(name) {
  const text = TEXT.replace('good', name);
  const uri = `skill://${name}/SKILL.md`;
  const file = { uri, digest: `sha256:${createHash('sha256').update(text).digest('hex')}`, size: Buffer.byteLength(text) };
  return { uri, frontmatter: { name, description: 'Does it.' }, resources: [file] };
}

// oddEntries are all entries with one member of a wrong kind.
function oddEntries() {
  const all = [...WRONG.filter((value) => value !== undefined)];
  let number = 0;
  const vary = (choose, member) => {
    for (const value of WRONG) {
      const odd = entry(`odd-${++number}`);
      choose(odd)[member] = value;
      all.push(odd);
    }
  };
  for (const member of ['uri', 'frontmatter', 'resources']) vary((odd) => odd, member);
  for (const member of ['name', 'description', 'metadata', 'compatibility', 'license', '__proto__x']) vary((odd) => odd.frontmatter, member);
  for (const member of ['uri', 'digest', 'size', 'mimeType']) vary((odd) => odd.resources[0], member);
  const twice = entry('twice');
  twice.resources.push(twice.resources[0]);
  return [...all, twice, entry('repeated'), entry('repeated'), { ...entry('further'), further: 7, _meta: 7 }];
}

const good = entry('good');
const MODES = {
  entries: { 'skills/list': { skills: [...oddEntries(), good] } },
  none: { 'skills/list': {} }, null: { 'skills/list': { skills: null } }, number: { 'skills/list': { skills: 7 } }, object: { 'skills/list': { skills: {} } },
  result: { 'skills/list': 7 }, cursor: { 'skills/list': { skills: [good], nextCursor: 7 } }, endless: { 'skills/list': { skills: [good], nextCursor: 'again' } },
  get: { 'skills/get': { skill: 7 } }, other: { 'skills/get': { skill: entry('another') } }, nothing: { 'skills/get': null },
  contents: { 'resources/read': { contents: 7 } }, empty: { 'resources/read': { contents: [] } }, text: { 'resources/read': { contents: [{ uri: good.uri, text: 7 }] } },
  blob: { 'resources/read': { contents: [{ uri: good.uri, blob: '%' }] } }, address: { 'resources/read': { contents: [{ uri: 'skill://else/SKILL.md', text: TEXT }] } },
};

const answers = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { resources: {}, extensions: { 'io.modelcontextprotocol/skills': {} } }, serverInfo: { name: 'odd', version: '1' } },
  ping: {}, 'resources/list': { resources: [] }, 'resources/templates/list': { resourceTemplates: [] }, 'skills/list': { skills: [good] }, 'skills/get': { skill: good },
  'resources/read': { contents: [{ uri: good.uri, text: TEXT }] },
  ...MODES[process.argv[2]],
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const known = method in answers && !(method === 'skills/get' && process.argv[2] === 'entries');
  const found = method === 'skills/get' && [...answers['skills/list'].skills].find((skill) => skill?.uri === params.uri);
  const answer = known ? { result: answers[method] } : found ? { result: { skill: found } } : { error: { code: -32601, message: 'no such method' } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
});
