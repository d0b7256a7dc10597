// Stands between a client and the server and notes what both send, a line of JSON for each message:
//
//   node record.mjs NOTES COMMAND [ARGUMENT...]    on stdio
//
// A note is {from: 'client' | 'server', at, message}; over HTTP those of the client also have {method, headers}, and a note
// {from: 'client', ended: true} says that it gave up a request before the answer was complete.

import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { createServer, request as send } from 'node:http';
import { createInterface } from 'node:readline';

const note = (file, value) => appendFileSync(file, `${JSON.stringify({ at: Date.now(), ...value })}\n`);

function parsed(text) {
  try { return JSON.parse(text); } catch { return { unreadable: text.slice(0, 200) }; }
}

/** Passes HTTP on to a server, whose address it returns with the port of its own. */
export async function recordHTTP(file, target) {
  const to = new URL(target);
  const proxy = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const text = body.toString();
    note(file, { from: 'client', method: request.method, path: request.url, headers: request.headers, ...(text && { message: parsed(text) }) });
    const onward = send({ host: to.hostname, port: to.port, agent: false, method: request.method, path: request.url, headers: { ...request.headers, host: to.host } }, (answer) => {
      response.writeHead(answer.statusCode, answer.rawHeaders.reduce((all, value, i, raw) => (i % 2 ? all : [...all, [value, raw[i + 1]]]), []).flat());
      response.flushHeaders();
      answer.on('error', () => response.destroy());
      answer.pipe(response);
      const stream = answer.headers['content-type']?.startsWith('text/event-stream');
      let whole = '';
      const lines = createInterface({ input: answer });
      lines.on('error', () => {}); // the connection has been closed
      lines.on('line', (line) => {
        if (!stream) whole += `${line}\n`;
        else if (line.startsWith('data:') && line.length > 6) note(file, { from: 'server', message: parsed(line.slice(5)) });
      });
      lines.on('close', () => whole && note(file, { from: 'server', status: answer.statusCode, message: parsed(whole) }));
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => {
      if (!response.writableFinished) note(file, { from: 'client', ended: true, method: request.method });
      onward.destroy();
    });
    onward.end(body);
  });
  proxy.keepAliveTimeout = 0; // the server decides when an idle connection ends
  await new Promise((done) => proxy.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${proxy.address().port}${to.pathname}`, close: () => { proxy.closeAllConnections(); proxy.close(); } };
}

function recordStdio(file, command, args) {
  const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const tee = (input, output, from) => {
    createInterface({ input }).on('line', (line) => line && note(file, { from, message: parsed(line) }));
    input.pipe(output);
  };
  tee(process.stdin, server.stdin, 'client');
  tee(server.stdout, process.stdout, 'server');
  process.stdout.on('error', () => {});
  server.stdin.on('error', () => {});
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => { note(file, { from: 'client', signal }); server.kill(signal); });
  }
  server.on('exit', (code) => process.exit(code ?? 1));
}

if (process.argv[1] === import.meta.filename) recordStdio(process.argv[2], process.argv[3], process.argv.slice(4));
