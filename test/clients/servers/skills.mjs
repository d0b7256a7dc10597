// A server of skills on the TypeScript SDK v2, in both generations of the protocol, which follows changes of its files:
//
//   node skills.mjs DIRECTORY

import { McpServer } from '@modelcontextprotocol/server';
import { loadSkills } from '@modelcontextprotocol/server/ext/skills/node';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const skills = await loadSkills(process.argv[2], { pageSize: 1 });
setInterval(() => skills.reload().catch(() => {}), 50).unref();
serveStdio(() => {
  const server = new McpServer({ name: 'skills', version: '1.0.0' });
  skills.attach(server);
  return server;
});
