/**
 * Node's HTTP. An import of `node:http` reads everything that it exports, and its WebSocket loads undici: 14 MB of memory and 40 ms of
 * processor time at each start (measured with Node 24). Types may come from there.
 */
export const http: typeof import('node:http') = process.getBuiltinModule('node:http');
