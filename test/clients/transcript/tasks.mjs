// Thirty things that a model is asked to do in a project, as the calls it makes. A task
// is its group, its name, and its calls: [tool, arguments], or a function of the answers
// so far that returns one. `before` are the calls for a server that does not have a tool.
// `all` means that the model reads on, as answers say, until it has everything.

const last = (answers) => answers.at(-1).text;
const jobOf = (answers) => answers[0].text.match(/\bjob[ _]?(?:id )?"?([a-z]*[-_]?[0-9a-z]+)/i)?.[1];

export const tasks = ({ site }) => [
  { group: 'files', name: 'list the project', calls: [['list_directory', {}]] },
  { group: 'files', name: 'list a directory of 1,000 files', all: true, calls: [['list_directory', { path: 'records' }]] },
  { group: 'files', name: 'list the sources, recursively', all: true, calls: [['list_directory', { path: 'src', recursive: true }]] },
  { group: 'files', name: 'read a source', calls: [['read_file', { path: 'src/part1/step1.mjs' }]] },
  { group: 'files', name: 'read the end of a log', calls: [['read_file', { path: 'logs/app.log', offset: -20 }]] },
  { group: 'files', name: 'read an empty file', calls: [['read_file', { path: 'empty.txt' }]] },
  { group: 'files', name: 'read a file whose name is not quite right', calls: [['read_file', { path: 'src/part1/steps1.mjs' }], ['read_file', { path: 'src/part1/step1.mjs' }]] },

  { group: 'search', name: 'find the tests by name', all: true, calls: [['search_files', { pattern: '*.test.mjs' }]] },
  { group: 'search', name: 'find the records by name', all: true, calls: [['search_files', { path: 'records', pattern: '*.json' }]] },
  { group: 'search', name: 'find where a function is used', calls: [['grep', { pattern: 'step7\\b' }]] },
  { group: 'search', name: 'find files with a TODO', calls: [['grep', { pattern: 'TODO', mode: 'files' }]] },
  { group: 'search', name: 'find what is not there', calls: [['grep', { pattern: 'nowhere' }], ['search_files', { pattern: '*.rs' }]] },

  { group: 'edit', name: 'write a file', calls: [['write_file', { path: 'src/part1/new.mjs', content: 'export const one = 1;\n' }]] },
  { group: 'edit', name: 'change a line', calls: [['edit_file', { path: 'src/part2/step2.mjs', edits: [{ old_text: 'let total = 0;', new_text: 'let total = 0n;' }] }]] },
  { group: 'edit', name: 'change a line, at the second try', calls: [
    ['edit_file', { path: 'src/part3/step3.mjs', edits: [{ old_text: 'let totals = 0;', new_text: 'let total = 1;' }] }],
    ['edit_file', { path: 'src/part3/step3.mjs', edits: [{ old_text: 'let total = 0;', new_text: 'let total = 1;' }] }]] },
  { group: 'edit', name: 'append to a file', calls: [['append_file', { path: 'CHANGELOG.md', content: '* 1.1.0 second\n' }]] },
  { group: 'edit', name: 'rename a file', calls: [['move_file', { source: 'src/part4/step4.mjs', destination: 'src/part4/fourth.mjs' }]],
    before: [['bash', { command: 'mv src/part4/step4.mjs src/part4/fourth.mjs' }]] },
  { group: 'edit', name: 'copy a file into a new directory', calls: [['copy_file', { source: 'README.md', destination: 'docs/start/README.md' }]],
    before: [['bash', { command: 'mkdir -p docs/start && cp README.md docs/start/README.md' }]] },

  { group: 'commands', name: 'state of the repository', calls: [['bash', { command: 'git status --short' }]] },
  { group: 'commands', name: 'run checks that fail', calls: [['bash', { command: 'sh check.sh' }]] },
  { group: 'commands', name: 'a command with too much output', calls: [['bash', { command: 'cat logs/app.log | tail -n 2000' }]] },
  { group: 'commands', name: 'a command that is too slow', calls: [['bash', { command: 'echo started; sleep 30', timeout: 1 }]] },
  { group: 'commands', name: 'a server in the background', calls: [
    ['bash', { command: 'echo ready; sleep 60', background: true }],
    (answers) => ['bash_jobs', { action: 'read', job: jobOf(answers) }], (answers) => ['bash_jobs', { action: 'stop', job: jobOf(answers) }]],
    before: [['bash', { command: 'echo ready; sleep 60', background: true }],
      (answers) => ['bash', { command: '', job_action: 'read', job: jobOf(answers) }], (answers) => ['bash', { command: '', job_action: 'stop', job: jobOf(answers) }]] },
  { group: 'commands', name: 'a file outside', calls: [['bash', { command: 'echo x >/etc/orders.conf' }], ['bash', { command: 'echo x >orders.conf' }]] },

  { group: 'pages', name: 'read an article', calls: [['web_fetch', { url: `${site}/article`, content: 'article' }]], before: [['web_fetch', { url: `${site}/article` }]] },
  { group: 'pages', name: 'read a manual', calls: [['web_fetch', { url: `${site}/manual`, content: 'article', format: 'markdown' }]],
    before: [['web_fetch', { url: `${site}/manual`, format: 'markdown' }]] },
  { group: 'pages', name: 'read a feed', calls: [['web_fetch', { url: `${site}/feed` }]] },
  { group: 'pages', name: 'a page without text, and one that is not there', calls: [['web_fetch', { url: `${site}/app` }], ['web_fetch', { url: `${site}/gone` }]] },

  { group: 'failures', name: 'names of other servers', calls: [['read_text_file', { path: 'package.json' }], ['read_file', { file_path: 'package.json' }], ['read_file', { path: 'package.json' }]] },
  { group: 'failures', name: 'options of other servers', calls: [['grep', { pattern: 'TODO', '-i': true, output_mode: 'content', head_limit: 5 }], ['grep', { pattern: 'TODO', max_results: 5 }]] },
];

// next is the call that an answer names to read on, or undefined. Pages of a long result
// that do not name it follow each other.
export function next(answers) {
  const call = last(answers).trimEnd().split('\n').at(-1).match(/\b([a-z_]+)\(([a-z_]+=.*)\)/);
  const { name, args } = answers.at(-1).call;
  const { pages } = answers[0].data ?? {};
  if (!call) return name === 'read_large_result' && args.page < pages ? [name, { ...args, page: args.page + 1 }] : undefined;
  const fields = call[2].matchAll(/([a-z_]+)=("(?:[^"\\]|\\.)*"|[^,]+)/gi);
  return [call[1], Object.fromEntries([...fields].map(([, key, value]) => [key, JSON.parse(value)]))];
}
