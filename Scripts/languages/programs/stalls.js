// Stalls with a known function and line: stalls.js SCENARIO ROUNDS TRUTH LEAD. An event loop waits between the stalls, and LEAD seconds before the first.
// Writes the start and end of each stall to TRUTH. TURN: a hard link to the TRUTH of the program that stalls; programs that run at the same time stall one
// after another.
'use strict';
const { execSync, spawn, spawnSync } = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const net = require('net');
const os = require('os');
const path = require('path');
const vm = require('vm');
const zlib = require('zlib');

const MILLISECONDS = 350;
const CELL = new Int32Array(new SharedArrayBuffer(4));
const FIFO = path.join(os.tmpdir(), `stalls-${process.pid}`);
const VALUES = Array.from({ length: 3000 }, (_, number) => ({ name: String(number), values: [number, number + 1] }));

function compute() {
  const end = Date.now() + MILLISECONDS;
  let count = 0;
  while (Date.now() < end) { // @stall compute compute
    count += 1; // @stall compute compute
  }
  return count;
}

function multiply() {
  let value = 1;
  for (let round = 0; round < 4e8; round++) { // @stall arithmetic multiply
    value = (value * 31 + round) | 0; // @stall arithmetic multiply
  }
  return value;
}

function wait() {
  Atomics.wait(CELL, 0, 0, MILLISECONDS); // @stall atomics wait
}

function readFifo() {
  spawn('/bin/sh', ['-c', `sleep ${MILLISECONDS / 1000}; echo x > ${FIFO}`], { stdio: 'ignore' });
  return fs.readFileSync(FIFO); // @stall fifo readFifo
}

function runCommand() {
  return execSync(`sleep ${MILLISECONDS / 1000}`); // @stall exec runCommand
}

function runProgram() {
  return spawnSync('/bin/sleep', [String(MILLISECONDS / 1000)]); // @stall spawn runProgram
}

function descend(depth) {
  if (depth > 0) {
    return descend(depth - 1) + 1;
  }
  Atomics.wait(CELL, 0, 0, MILLISECONDS); // @stall recursion descend
  return 0;
}

function makeClosure(milliseconds) {
  return function waitInside() {
    Atomics.wait(CELL, 0, 0, milliseconds); // @stall closure waitInside
  };
}

const WAIT = (milliseconds) => Atomics.wait(CELL, 0, 0, milliseconds); // @stall arrow WAIT

class Shop {
  checkout() {
    return [1, 2, 3].map((number) => this.price(number));
  }

  price(number) {
    if (number === 3) {
      Atomics.wait(CELL, 0, 0, MILLISECONDS); // @stall method price
    }
    return number;
  }

  get total() {
    Atomics.wait(CELL, 0, 0, MILLISECONDS); // @stall getter get total
    return 1;
  }

  static audit() {
    const end = Date.now() + MILLISECONDS;
    while (Date.now() < end); // @stall static-method audit
  }
}

function* numbers() {
  yield 1;
  Atomics.wait(CELL, 0, 0, MILLISECONDS); // @stall generator numbers
  yield 2;
}

// A method of a class as compilers write it for older releases.
const Basket = (function () {
  function Basket() {
    this.count = 0;
  }
  Basket.prototype.total = function total() {
    const end = Date.now() + MILLISECONDS;
    while (Date.now() < end) { // @stall old-class total
      this.count += 1; // @stall old-class total
    }
  };
  return Basket;
})();

// Runs the parts of an async function that was compiled to a switch.
function runParts(parts) {
  return new Promise((resolve, reject) => {
    const step = (value) => {
      const result = parts.next(value);
      if (result.done) resolve(result.value);
      else Promise.resolve(result.value).then(step, reject);
    };
    step();
  });
}

function* loadPage() {
  yield null;
  Atomics.wait(CELL, 0, 0, MILLISECONDS); // @stall awaiter loadPage
}

function compare(left, right) {
  Atomics.wait(CELL, 0, 0, MILLISECONDS); // @stall sort-callback compare
  return left - right;
}

function sleepIfAsked(isAsked) {
  if (isAsked) {
    Atomics.wait(CELL, 0, 0, MILLISECONDS); // @stall optimized sleepIfAsked
  }
  return 1;
}

function callOften(isLast) {
  return sleepIfAsked(isLast) + 1;
}

function optimize() {
  let total = 0;
  for (let round = 0; round < 200000; round++) total += callOften(false);
  return total + callOften(true);
}

function match() {
  const end = Date.now() + MILLISECONDS;
  while (Date.now() < end) { // @stall regex match
    /^(a+)+$/.test('a'.repeat(18) + 'b'); // @stall regex match
  }
}

function serialize() {
  const end = Date.now() + MILLISECONDS;
  while (Date.now() < end) { // @stall json serialize
    JSON.stringify(VALUES); // @stall json serialize
  }
}

function hash() {
  crypto.pbkdf2Sync('password', 'salt', 1000000, 64, 'sha512'); // @stall crypto hash
}

function compress() {
  const end = Date.now() + MILLISECONDS;
  const data = Buffer.alloc(1 << 18, 'abcdefg');
  while (Date.now() < end) { // @stall zlib compress
    zlib.deflateSync(data); // @stall zlib compress
  }
}

function collect() {
  const end = Date.now() + MILLISECONDS;
  let kept = [];
  while (Date.now() < end) { // @stall gc collect
    kept.push({ values: new Array(100).fill(kept.length) }); // @stall gc collect
    if (kept.length > 20000) kept = []; // @stall gc collect
  }
}

function handleError() {
  try {
    throw new Error('expected');
  } catch (error) {
    Atomics.wait(CELL, 0, 0, MILLISECONDS); // @stall exception handleError
  }
}

function runScript() {
  return vm.runInThisContext('cell => { Atomics.wait(cell, 0, 0, 1); }', { filename: 'script.js' });
}

function callScript() {
  runScript()(CELL);
  Atomics.wait(CELL, 0, 0, MILLISECONDS); // @stall vm callScript
}

async function queryDatabase() {
  await null;
  Atomics.wait(CELL, 0, 0, MILLISECONDS); // @stall async-wait queryDatabase
}

async function handleRequest() {
  await queryDatabase();
}

async function renderPage() {
  await null;
  const end = Date.now() + MILLISECONDS;
  while (Date.now() < end) { // @stall async-compute renderPage
    VALUES.indexOf(null); // @stall async-compute renderPage
  }
}

function settle() {
  return Promise.resolve().then(function afterwards() {
    Atomics.wait(CELL, 0, 0, MILLISECONDS); // @stall promise afterwards
  });
}

const STALLS = {
  compute,
  arithmetic: multiply,
  atomics: wait,
  fifo: readFifo,
  exec: runCommand,
  spawn: runProgram,
  recursion: () => descend(40),
  closure: makeClosure(MILLISECONDS),
  arrow: () => WAIT(MILLISECONDS),
  method: () => new Shop().checkout(),
  getter: () => new Shop().total,
  'static-method': () => Shop.audit(),
  generator: () => Array.from(numbers()),
  'old-class': () => new Basket().total(),
  'sort-callback': () => [2, 1].sort(compare),
  optimized: optimize,
  regex: match,
  json: serialize,
  crypto: hash,
  zlib: compress,
  gc: collect,
  exception: handleError,
  vm: callScript,
  'async-wait': handleRequest,
  'async-compute': renderPage,
  promise: settle,
  awaiter: () => runParts(loadPage()),
};
const RESTS = 25;
const REST_MILLISECONDS = 20;

const TURN = process.env.TURN;

function takesTurn() {
  try {
    if (TURN) fs.linkSync(process.argv[4], TURN);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

const rest = () => new Promise((resolve) => setTimeout(resolve, REST_MILLISECONDS));

async function main() {
  const [name, rounds, truth, lead] = process.argv.slice(2);
  if (name === 'fifo') execSync(`mkfifo ${FIFO}`);
  const file = fs.openSync(truth, 'w');
  const server = net.createServer((socket) => socket.destroy());
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  for (let number = 0; number < (Number(lead) * 1000) / REST_MILLISECONDS; number++) await rest();
  for (let round = 0; round < Number(rounds); round++) {
    for (let number = 0; number < RESTS; number++) await rest();
    while (!takesTurn()) await rest();
    // A client waits during the stall.
    const client = net.connect(server.address().port, '127.0.0.1').on('error', () => {});
    // It connects in the next tick of the loop.
    await new Promise((resolve) => process.nextTick(resolve));
    const begin = process.hrtime.bigint();
    await STALLS[name]();
    fs.writeSync(file, `${begin} ${process.hrtime.bigint()}\n`);
    if (TURN) fs.unlinkSync(TURN);
    client.destroy();
  }
  for (let number = 0; number < RESTS; number++) await rest();
  server.close();
  if (name === 'fifo') fs.unlinkSync(FIFO);
}

main();
