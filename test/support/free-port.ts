/** For programs that cannot be told to take any port that is free. */
import { type AddressInfo, createServer } from 'node:net';

/** A port that was free a moment ago. Another process may take it before it is used, so callers retry with another one. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
