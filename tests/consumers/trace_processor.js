// The trace processor of a Perfetto UI as a server: a Unix socket in front of its WebAssembly engine.
//
// Usage: node trace_processor.js FOLDER SOCKET
// FOLDER has engine_bundle.js and trace_processor.wasm. The engine uses the same byte stream as Perfetto's clients on a
// Unix socket, so this program forwards bytes without parsing messages. It prints "ready", serves one client after
// another and ends with its standard input.
'use strict';

const fs = require('fs');
const net = require('net');
const path = require('path');
const vm = require('vm');

const [folder, address] = process.argv.slice(2);

// The used parts of a Web Worker. The engine reads its code by a synchronous request.
class Request {
  open(method, url) {
    this.file = path.join(folder, path.basename(url));
  }

  send() {
    const bytes = fs.readFileSync(this.file);
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  }
}

const toErrors = (...parts) => console.error(...parts);

function worker() {
  const scope = vm.createContext({
    console: {log: toErrors, warn: toErrors, error: toErrors},
    location: {href: 'file:///'},
    performance,
    TextDecoder,
    URL,
    XMLHttpRequest: Request,
    WorkerGlobalScope: function () {},
  });
  vm.runInContext('globalThis.self = globalThis', scope);
  vm.runInContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'), scope);
  return scope.self;
}

const scope = worker();
let client = null;
const port = {
  postMessage: (bytes) => client.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
};
scope.onmessage({data: port});

const server = net.createServer((socket) => {
  client = socket;
  socket.on('error', () => socket.destroy());
  socket.on('data', (bytes) => port.onmessage({data: new scope.Uint8Array(bytes)}));
});
server.listen(address, () => console.log('ready'));
process.stdin.on('end', () => process.exit()).resume();
