/** Finds a port for programs that cannot choose a free one themselves. */
import { type AddressInfo, createServer } from 'node:net';

/** Returns a free port. Another process may take it before it is used, so callers must retry. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
