// A thread that passes what is said to a port of this machine on, after the milliseconds that it was told last. It says which port it listens on.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

let wait = 0;
parentPort.on('message', (ms) => { wait = ms; });
const later = (socket, chunk) => setTimeout(() => socket.writable && socket.write(chunk), wait);
const server = createServer((client) => {
  const to = connect(workerData, '127.0.0.1');
  client.on('data', (chunk) => later(to, chunk)).on('error', () => {}).on('close', () => to.destroy());
  to.on('data', (chunk) => later(client, chunk)).on('error', () => client.destroy()).on('close', () => client.destroy());
}).listen(0, '127.0.0.1');
await once(server, 'listening');
parentPort.postMessage(server.address().port);
