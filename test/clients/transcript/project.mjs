// The project that the tasks work in, and the site that they read. Both are the same
// in every run, so that answers can be compared by their tokens.

import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const WORDS = 'river stone window market garden winter signal paper bridge harbour morning letter engine valley copper lantern'.split(' ');

// word is one of some words, sentence and paragraph some of them in a row.
const word = (n) => WORDS[(n * 7 + (n >> 3) * 5) % WORDS.length];
const sentence = (n) => `The ${word(n)} of the ${word(n + 1)} was ${n % 90 + 10} years older than any ${word(n + 2)} that the people of the ${word(n + 3)} had seen.`;
const paragraph = (n, length = 5) => Array.from({ length }, (_, i) => sentence(n * 11 + i)).join(' ');

function source(n) {
  const name = `step${n}`;
  return `import { record } from '../log.mjs';\n\n// ${name} adds up the orders of one day.\nexport function ${name}(orders) {\n  let total = 0;\n`
    + `  for (const order of orders) {\n    if (order.canceled) continue;\n    total += order.price * order.count;\n  }\n`
    + `${n % 8 === 0 ? '  // TODO: round to cents\n' : ''}  record('${name}', total);\n  return total;\n}\n`;
}

const LOG = Array.from({ length: 5000 }, (_, i) => `2026-11-02T10:${String(i % 60).padStart(2, '0')}:00Z ${i % 50 ? 'INFO ' : 'ERROR'} request ${i} ${sentence(i)}`).join('\n') + '\n';

const CHECK = `i=1\nwhile [ $i -le 40 ]; do echo "ok $i - step$i adds up"; i=$((i+1)); done\necho "not ok 41 - rounds to cents"\necho "  expected 10.05, got 10.049999" >&2\nexit 1\n`;

// makeProject makes a repository of 60 sources, 1,000 records, a log and a few more.
export async function makeProject() {
  const root = await mkdtemp(join(await realpath(tmpdir()), 'transcript-'));
  const work = join(root, 'project');
  const files = {
    'README.md': `# Orders\n\n${Array.from({ length: 12 }, (_, i) => paragraph(i)).join('\n\n')}\n`,
    'CHANGELOG.md': '# Changes\n\n* 1.0.0 first\n', 'package.json': '{\n  "name": "orders",\n  "version": "1.0.0"\n}\n', 'LICENSE': paragraph(3),
    '.gitignore': 'logs/\n', 'empty.txt': '', 'check.sh': CHECK, 'logs/app.log': LOG, 'src/log.mjs': 'export const record = console.log;\n',
  };
  for (let i = 1; i <= 60; i++) files[`src/part${i % 6}/step${i}.mjs`] = source(i);
  for (let i = 1; i <= 20; i++) files[`test/step${i}.test.mjs`] = `import { step${i} } from '../src/part${i % 6}/step${i}.mjs';\n`;
  for (let i = 1; i <= 1000; i++) files[`records/record-${String(i).padStart(4, '0')}.json`] = `{"id": ${i}, "name": "${word(i)}"}\n`;
  await Promise.all([...new Set(Object.keys(files).map(dirname))].map((folder) => mkdir(join(work, folder), { recursive: true })));
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(work, name), text)));
  const git = (...args) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], { cwd: work, env: { PATH: process.env.PATH, HOME: root } });
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-q', '-m', 'Begin');
  return { root, work, remove: () => rm(root, { recursive: true, force: true }) };
}

const links = (n, name) => Array.from({ length: n }, (_, i) => `<li><a href="/${name}/${i}-${word(i)}-${word(i + 4)}">${word(i)} ${word(i + 5)} ${word(i + 9)}</a></li>`).join('\n');
const frame = (title, body) => `<!doctype html><html lang="en"><head><title>${title}</title></head><body>
<header><nav><ul>${links(60, 'section')}</ul></nav></header><div class="cookie-banner">We use cookies. <button>Accept all</button></div>
${body}<aside><h2>Most read</h2><ul>${links(40, 'story')}</ul></aside><footer><ul>${links(30, 'about')}</ul><p>All rights reserved.</p></footer></body></html>`;

const ARTICLE = frame('The bridge', `<main><article><h1>The bridge</h1><p class="byline">By A. Writer</p>${
  Array.from({ length: 14 }, (_, i) => `<p>${paragraph(i)} <a href="/topic/${word(i)}">${word(i)}</a></p>`).join('\n')}</article></main>`);
const MANUAL = frame('orders(1)', `<main><h1>orders</h1>${
  Array.from({ length: 8 }, (_, i) => `<h2>Step ${i}</h2><p>${paragraph(i, 2)}</p><pre><code class="language-sh">orders --step ${i} --out <em>file</em></code></pre>`).join('\n')}</main>`);
const FEED = `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>${Array.from({ length: 10 }, (_, i) =>
  `<item><title>${word(i)} ${word(i + 2)}</title><link>https://example.org/${i}</link><pubDate>Mon, 0${i % 9 + 1} Nov 2026 10:00:00 GMT</pubDate><description>&lt;p&gt;${sentence(i)}&lt;/p&gt;</description></item>`).join('')}</channel></rss>`;

const PAGES = {
  '/article': [200, 'text/html; charset=utf-8', ARTICLE],
  '/manual': [200, 'text/html; charset=utf-8', MANUAL],
  '/feed': [200, 'application/rss+xml', FEED],
  '/app': [200, 'text/html; charset=utf-8', '<!doctype html><title>App</title><div id="root"></div><script src="/app.js"></script>'],
  '/api': [200, 'application/json', JSON.stringify({ orders: Array.from({ length: 5 }, (_, i) => ({ id: i, name: word(i) })) })],
};

// servePages serves the pages; what is not there is 404.
export async function servePages() {
  const server = createServer((request, response) => {
    const [status, type, body] = PAGES[request.url] ?? [404, 'text/plain', 'no such page'];
    response.writeHead(status, { 'content-type': type });
    response.end(body);
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const host = `127.0.0.1:${server.address().port}`;
  return { host, url: `http://${host}`, stop: () => { server.closeAllConnections(); server.close(); } };
}
