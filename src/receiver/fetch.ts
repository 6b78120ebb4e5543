/** A receiver behind servers whose handlers make a `Response` of a `Request`: Deno, Bun, Hono, workers. */
import type { Receiver } from './receiver.ts';
import { readBody, wasParsed } from './request.ts';

/** `Deno.serve(fetchHandler(receiver))`, `export default { fetch: fetchHandler(receiver) }`, `(c) => handler(c.req.raw)`. */
export function fetchHandler(receiver: Receiver): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const { status, headers, body } = await receiver.receive({
      method: request.method,
      pathAndQuery: pathname + search,
      headers: request.headers,
      body: async (maxBytes) => {
        if (request.bodyUsed) return wasParsed();
        const reader = request.body?.getReader();
        return readBody(async () => (await reader?.read()) ?? { done: true }, maxBytes);
      },
    });
    return new Response(body, { status, headers });
  };
}
