'use strict';
// An HTTP server for Scripts/wrap whose handlers block its loop on demand: http-server.js PORT FIFO.
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');

const [port, fifo] = process.argv.slice(2);
const block = Buffer.alloc(8 << 20);
http.createServer((request, response) => {
  if (request.url === '/loop') {
    const end = Date.now() + 500;
    while (Date.now() < end);
  } else if (request.url === '/hash') {
    const end = Date.now() + 400;
    while (Date.now() < end) crypto.createHash('sha256').update(block).digest();
  } else if (request.url === '/read') {
    fs.readFileSync(fifo);
  }
  response.end('hello\n');
}).listen(Number(port), '127.0.0.1');
