'use strict';
// node: server.js PORT FIFO.
const fs = require('fs');
const http = require('http');

const [port, fifo] = process.argv.slice(2);
http.createServer((request, response) => {
  if (request.url === '/compute') {
    const end = Date.now() + 600;
    while (Date.now() < end);
  } else if (request.url === '/sleep' || request.url === '/hang') {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, request.url === '/sleep' ? 600 : 8000);
  } else if (request.url === '/read') {
    fs.readFileSync(fifo);
  }
  response.end('hello\n');
}).listen(Number(port), '127.0.0.1');
