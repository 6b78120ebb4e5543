/** Finds a port for programs that cannot choose a free one themselves. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the ports that Linux and macOS give to servers at port 0 and to outgoing connections, which the tests use
 * all the time; above 10080, to which fetch connects never.
 */
const FROM = 11_000;
const UNTIL = 32_000;

/** Returns a free port. Another process may take it before it is used, so callers must notice that. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FROM, UNTIL);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
