// A server of one skill whose files nobody lists, under a scheme of its own, on the TypeScript SDK v2:
//
//   node dynamic.mjs

import { McpServer } from '@modelcontextprotocol/server';
import { SkillsExtension } from '@modelcontextprotocol/server/ext/skills';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const root = 'demo://reports/daily';
const skill = { uri: `${root}/SKILL.md`, frontmatter: { name: 'daily', description: 'Reports.' }, resources: 'dynamic' };
const files = { [skill.uri]: '---\nname: daily\ndescription: Reports.\n---\nSee data/.\n', [`${root}/data/now.txt`]: 'now' };
const directories = {
  [root]: [{ uri: skill.uri, name: 'SKILL.md', mimeType: 'text/markdown' }, { uri: `${root}/data`, name: 'data', mimeType: 'inode/directory' }],
  [`${root}/data`]: [{ uri: `${root}/data/now.txt`, name: 'now.txt', mimeType: 'text/plain' }],
};

const source = {
  list: async () => ({ skills: [skill] }),
  get: async (uri) => (uri === skill.uri ? skill : undefined),
  read: async (uri) => (uri in files ? { text: files[uri] } : undefined),
  readDirectory: async (uri) => (uri in directories ? { resources: directories[uri] } : undefined),
};

const skills = new SkillsExtension({ source, baseUri: 'demo://' });
serveStdio(() => {
  const server = new McpServer({ name: 'dynamic', version: '1.0.0' });
  skills.attach(server);
  return server;
});
