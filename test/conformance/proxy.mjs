// Passes requests on to a server, with a token that it adds, and answers as they come:
//
//   node proxy.mjs URL TOKEN
//
// It prints its own address of the endpoint.

import { createServer, request } from 'node:http';

const [to, token] = [new URL(process.argv[2]), process.argv[3]];
const proxy = createServer((from, answer) => {
  const onward = request({ host: to.hostname, port: to.port, path: from.url, method: from.method, headers: { ...from.headers, authorization: `Bearer ${token}` } }, (response) => {
    answer.writeHead(response.statusCode, response.headers);
    answer.flushHeaders();
    response.pipe(answer);
    response.on('error', () => answer.destroy());
  });
  onward.on('error', () => answer.destroy());
  answer.on('close', () => onward.destroy());
  from.pipe(onward);
});
proxy.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${proxy.address().port}${to.pathname}`));
