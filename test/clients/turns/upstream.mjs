// Another server, behind the one that is tested: it reports progress, asks, takes long, answers with structured content, and has a tool more
// after grow was called.

import { randomUUID } from 'node:crypto';

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const server = new McpServer({ name: 'upstream', version: '1.0.0' });

server.registerTool('progress', { description: 'Report progress.', inputSchema: {} }, async (_, { _meta, sendNotification }) => {
  for (let step = 1; _meta?.progressToken !== undefined && step <= 4; step++) {
    await sendNotification({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress: step, total: 4, message: `step ${step}` } });
  }
  return text(_meta?.progressToken === undefined ? 'nobody to report to' : 'reported');
});
server.registerTool('ask', { description: 'Ask the user.', inputSchema: {} }, async () => {
  const { action, content } = await server.server.elicitInput({
    message: 'Which colour?', requestedSchema: { type: 'object', properties: { colour: { type: 'string', enum: ['red', 'green'] } }, required: ['colour'] },
  });
  return text(`${action} ${JSON.stringify(content)}`);
});
server.registerTool('slow', { description: 'Return something after a while.', inputSchema: {} }, async () => {
  await new Promise((done) => setTimeout(done, 6000));
  return text('Slow and steady.');
});
server.registerTool('structured', { description: 'Return structured content.', inputSchema: {}, outputSchema: { n: z.number() } },
  () => ({ content: [{ type: 'text', text: 'As text.' }], structuredContent: { n: 4711 } }));
const instance = randomUUID();
server.registerTool('identify', { description: 'Return the message, and which process has it, after a while.', inputSchema: { message: z.string() } }, async ({ message }) => {
  await new Promise((done) => setTimeout(done, 700));
  return text(`${message} of ${instance}`);
});
server.registerTool('grow', { description: 'Add a tool.', inputSchema: {} }, () => {
  server.registerTool('grown', { description: 'Is new.', inputSchema: {} }, () => text('I am new.'));
  return text('grown');
});
await server.connect(new StdioServerTransport());
