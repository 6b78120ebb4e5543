/** A receiver behind servers whose handlers make a `Response` of a `Request`: Deno, Bun, Hono, workers. */
import { readChunks } from '../wire/bytes.ts';
import { pathAndQuery } from '../wire/signature.ts';
import type { Receives } from './receiver.ts';

/** `Deno.serve(fetchHandler(receiver))`, `export default { fetch: fetchHandler(receiver) }`, `(c) => handler(c.req.raw)`. */
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
