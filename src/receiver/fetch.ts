/** A receiver for servers whose handlers return a `Response` for a `Request`: Deno, Bun, Hono, workers. */
import { readChunks } from '../wire/bytes.ts';
import { pathAndQuery } from '../wire/signature.ts';
import type { Receives } from './receiver.ts';

/** For `Deno.serve(fetchHandler(receiver))`, `export default { fetch: fetchHandler(receiver) }` and `(c) => handler(c.req.raw)`. */
export function fetchHandler(receiver: Receives): (request: Request) => Promise<Response> {
  return async (request) => {
    const { status, headers, body } = await receiver.receive({
      method: request.method,
      pathAndQuery: pathAndQuery(new URL(request.url)),
      headers: request.headers,
      body: async (maxBytes) => (request.bodyUsed ? 'parsed' : readChunks(request.body ?? [], maxBytes)),
    });
    return new Response(body, { status, headers });
  };
}
