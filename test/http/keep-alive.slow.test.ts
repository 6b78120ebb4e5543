/** Idle connections stay open longer than those of proxies, but not forever. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { startService } from '../support/service.ts';

const GET = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n';
const ANSWER = /^HTTP\/1\.1 200 .*\r\n\r\n\{.*\}$/s;

/** Resolves with the reply to one request, and rejects if the connection ends without one. */
function ask(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const take = (piece: Buffer): void => {
      text += piece.toString();
      if (!ANSWER.test(text)) return;
      socket.off('data', take).off('close', broken);
      resolve(text);
    };
    const broken = (): void => reject(new Error(`the connection ended after: ${text}`));
    socket.on('data', take).once('close', broken);
    socket.write(GET);
  });
}

it('an idle connection takes another request after two minutes, as long as Caddy keeps it, and ends automatically later', {
  timeout: 240_000,
}, async (t) => {
  const { url } = await startService(t);
  const open = (): Socket => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    t.after(() => socket.destroy());
    return socket;
  };
  const [kept, left] = [open(), open()];
  // Tells clients how long they may keep the connection.
  for (const socket of [kept, left]) assert.match(await ask(socket), /\r\nKeep-Alive: timeout=130\r\n/);
  // A connection that was used again ends too.
  await ask(left);
  const ended = new Promise((resolve) => left.once('close', resolve));
  await wait(121_000);
  await ask(kept);
  await ended;
  assert.equal(kept.closed, false);
});
