// The cases of the file tools.

import assert from 'node:assert/strict';

import { badNews, dataOf, resultOf, success, textOf, textOnly } from './expect.mjs';
import { PIXEL } from './world.mjs';

const OUTSIDE = '/etc/toolserver-clients';

const read = [
  {
    tool: 'read_file', name: 'whole', args: { path: 'notes.txt' },
    check(answer) {
      assert.equal(textOnly(answer), 'alpha\nbeta\ngamma\n');
      const meta = answer.result._meta;
      assert.equal(meta?.size_bytes, 17, `_meta.size_bytes in ${JSON.stringify(meta)}`);
      assert.equal(meta.truncated, false, '_meta.truncated');
    },
  },
  {
    tool: 'read_file', name: 'one line', args: { path: 'notes.txt', offset: 2, limit: 1 },
    check(answer) {
      assert.match(textOnly(answer), /^beta\b/);
      assert.doesNotMatch(textOf(answer.result), /alpha|gamma/);
    },
  },
  {
    tool: 'read_file', name: 'a number sent as text', args: { path: 'notes.txt', offset: '3' },
    check: (answer) => assert.match(textOnly(answer), /^gamma\n/),
  },
  {
    tool: 'read_file', name: 'image', args: { path: 'pixel.png' },
    check(answer) {
      const image = success(answer).content.find((block) => block.type === 'image');
      assert.equal(image?.mimeType, 'image/png');
      assert.equal(image.data, PIXEL);
    },
  },
  {
    tool: 'read_file', name: 'no such file', args: { path: 'note.txt' },
    check: (answer) => assert.match(badNews(answer).text, /notes\.txt/, 'names the nearest sibling'),
  },
  {
    tool: 'read_file', name: 'outside the working directory', args: { path: '/etc/hostname' },
    check: (answer) => badNews(answer),
  },
];

const write = [
  {
    tool: 'write_file', name: 'new file in a new directory', args: { path: 'made/here.txt', content: 'žluť\n' },
    async check(answer, world) {
      const data = dataOf(answer);
      assert.match(textOf(answer.result), /^Successfully wrote 7 bytes to (\/.*\/)?made\/here\.txt$/);
      assert.match(data.path, /made\/here\.txt$/);
      assert.equal(data.bytes, 7);
      assert.equal(data.created, true);
      assert.equal(await world.read('made/here.txt'), 'žluť\n');
    },
  },
  {
    tool: 'write_file', name: 'existing file', args: { path: 'made/here.txt', content: 'again\n' },
    async check(answer, world) {
      assert.equal(dataOf(answer).created, false);
      assert.equal(await world.read('made/here.txt'), 'again\n');
    },
  },
  {
    tool: 'write_file', name: 'on_conflict error', args: { path: 'made/here.txt', content: 'x', on_conflict: 'error' },
    async check(answer, world) {
      badNews(answer);
      assert.equal(await world.read('made/here.txt'), 'again\n');
    },
  },
  {
    tool: 'write_file', name: 'outside the working directory', args: { path: OUTSIDE, content: 'x' },
    check: (answer) => badNews(answer),
  },
  {
    tool: 'append_file', name: 'existing file', args: { path: 'made/here.txt', content: 'more\n' },
    async check(answer, world) {
      assert.match(textOf(success(answer)), /^Successfully appended to (\/.*\/)?made\/here\.txt$/);
      assert.equal(await world.read('made/here.txt'), 'again\nmore\n');
    },
  },
  {
    tool: 'append_file', name: 'no such file', args: { path: 'gone.txt', content: 'x' },
    check: (answer) => assert.match(badNews(answer).text,
      /Error: file does not exist: (\/.*\/)?gone\.txt\. Use write_file to create it first\./),
  },
  {
    tool: 'edit_file', name: 'replaces', args: { path: 'made/here.txt', edits: [{ old_text: 'again', new_text: 'anew' }] },
    async check(answer, world) {
      const diff = textOf(success(answer));
      assert.match(diff, /^-again$/m);
      assert.match(diff, /^\+anew$/m);
      assert.equal(await world.read('made/here.txt'), 'anew\nmore\n');
    },
  },
  {
    tool: 'edit_file', name: 'dry run', args: {
      path: 'made/here.txt', edits: [{ old_text: 'anew', new_text: 'never' }], dry_run: true,
    },
    async check(answer, world) {
      assert.match(textOf(success(answer)), /^\+never$/m);
      assert.equal(await world.read('made/here.txt'), 'anew\nmore\n');
    },
  },
  {
    tool: 'edit_file', name: 'text not found', args: { path: 'notes.txt', edits: [{ old_text: 'omega', new_text: 'x' }] },
    async check(answer, world) {
      badNews(answer);
      assert.equal(await world.read('notes.txt'), 'alpha\nbeta\ngamma\n');
    },
  },
];

const find = [
  {
    tool: 'list_directory', name: 'working directory', args: {},
    check(answer) {
      const rows = rowsOf(answer);
      const names = rows.map((row) => row.name + (row.type === 'directory' ? '/' : ''));
      assert.deepEqual(names, [...names].sort(), 'sorted');
      assert.deepEqual(rows.find((row) => row.name === 'notes.txt'), { name: 'notes.txt', type: 'file', size: 17 });
      assert.deepEqual(rows.find((row) => row.name === 'sub'), { name: 'sub', type: 'directory' });
    },
  },
  {
    tool: 'list_directory', name: 'details', args: { details: true },
    check(answer) {
      const notes = rowsOf(answer).find((row) => row.name === 'notes.txt');
      assert.ok(notes.modified && notes.mode, 'modified and mode');
    },
  },
  {
    tool: 'list_directory', name: 'recursive', args: { path: '.', recursive: true },
    check: (answer) => assert.ok(rowsOf(answer).some((row) => row.name === 'sub/deep.txt')),
  },
  {
    tool: 'search_files', name: 'glob', args: { pattern: '**/{notes,deep}.txt' },
    check(answer) {
      const data = dataOf(answer);
      assert.equal(data.count, 2);
      assert.equal(data.truncated, false);
      assert.deepEqual(data.matches.map((path) => path.replace(/.*\//, '')).sort(), ['deep.txt', 'notes.txt']);
      assert.deepEqual(JSON.parse(textOf(answer.result)), data.matches, 'the text is the array of paths');
    },
  },
  {
    tool: 'search_files', name: 'no such directory', args: { path: 'nowhere' },
    check: (answer) => badNews(answer),
  },
  {
    tool: 'grep', name: 'content', args: { pattern: 'gam+a r' },
    check(answer) {
      const text = textOf(success(answer));
      assert.match(text, /sub\/deep\.txt/);
      assert.match(text, /gamma ray/);
      assert.doesNotMatch(text, /notes\.txt/);
    },
  },
  {
    tool: 'grep', name: 'files', args: { pattern: 'gamma', mode: 'files' },
    check(answer) {
      const text = textOf(success(answer));
      assert.match(text, /notes\.txt/);
      assert.match(text, /sub\/deep\.txt/);
      assert.doesNotMatch(text, /gamma/);
    },
  },
  {
    tool: 'grep', name: 'broken pattern', args: { pattern: '(' },
    check: (answer) => assert.ok(answer.error ? answer.error.code === -32602 : resultOf(answer).isError),
  },
];

// rowsOf is the list in a directory listing, which text and structured content
// must both hold.
function rowsOf(answer) {
  const rows = Object.values(dataOf(answer)).find(Array.isArray);
  assert.ok(rows, 'structured content holds the entries');
  const lines = textOf(answer.result).split('\n').map((line) => line.split('\t')[0].replace(/\/$/, ''));
  assert.deepEqual(lines, rows.map((row) => row.name), 'text and structured content agree');
  return rows;
}

const places = [
  {
    tool: 'create_directory', name: 'with one above', args: { path: 'made/below' },
    check: (answer) => assert.deepEqual(dataOf(answer), { path: 'made/below', created: true }),
  },
  {
    tool: 'copy_file', name: 'a file', args: { source: 'notes.txt', destination: 'made/copy.txt' },
    async check(answer, world) {
      assert.equal(dataOf(answer).bytes, 17);
      assert.equal(await world.read('made/copy.txt'), 'alpha\nbeta\ngamma\n');
    },
  },
  {
    tool: 'move_file', name: 'a file', args: { source: 'made/copy.txt', destination: 'made/moved.txt' },
    async check(answer, world) {
      assert.equal(dataOf(answer).replaced, false);
      assert.equal(await world.read('made/moved.txt'), 'alpha\nbeta\ngamma\n');
    },
  },
];

export const fileCases = [...read, ...write, ...find, ...places];
