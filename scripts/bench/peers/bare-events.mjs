/**
 * The least that an event needs: a thread inserts and commits the body of a POST, which is answered with 202. The body is signed and sent
 * over a persistent connection, and the thread inserts and commits the outcome. Nothing is checked, and no work is shared between events.
 * Arguments: a folder, and the settings as JSON.
 */
import { createServer } from 'node:http';
import { join } from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { Pool } from 'undici';
import { listen } from './listen.mjs';
import { signed } from './post.mjs';

if (isMainThread) serve(process.argv[2], JSON.parse(process.argv[3]));
else write(workerData);

function serve(folder, { origin, ca, connections = 64 }) {
  const writer = new Worker(new URL(import.meta.url), { workerData: join(folder, 'bare.db') });
  const waiting = [];
  writer.on('message', () => waiting.shift()());
  const insert = (kind, row) =>
    new Promise((resolve) => {
      waiting.push(resolve);
      writer.postMessage([kind, row]);
    });
  const pool = new Pool(origin, { connections, allowH2: false, connect: { ca } });
  const deliver = async (body) => {
    const answer = await pool.request({ method: 'POST', path: '/hook', headers: signed(body, Date.now()), body });
    await answer.body.dump();
    await insert('outcome', answer.statusCode);
  };
  listen(
    createServer((request, response) => {
      const chunks = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', async () => {
        const body = Buffer.concat(chunks);
        await insert('event', body);
        response.writeHead(202, { 'Content-Length': 0 }).end();
        await deliver(body);
      });
    }),
  );
}

function write(file) {
  const database = new Database(file);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec(`
    CREATE TABLE event (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
    CREATE TABLE outcome (id INTEGER PRIMARY KEY, status INTEGER NOT NULL) STRICT;`);
  const statements = {
    event: database.prepare('INSERT INTO event (body) VALUES (?)'),
    outcome: database.prepare('INSERT INTO outcome (status) VALUES (?)'),
  };
  parentPort.on('message', ([kind, row]) => {
    statements[kind].run(row);
    parentPort.postMessage(null);
  });
}
