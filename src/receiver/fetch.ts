/** A receiver behind servers whose handlers make a `Response` of a `Request`: Deno, Bun, Hono, workers. */

import type { Receiver } from './receiver.ts';
import { type BodyVerdict, bodyIncomplete, bodyWasParsed, collectBody } from './request.ts';

/** `Deno.serve(fetchHandler(receiver))`, `export default { fetch: fetchHandler(receiver) }`, `(c) => handler(c.req.raw)`. */
export function fetchHandler(receiver: Receiver): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const { status, headers, body } = await receiver.receive({
      method: request.method,
      pathAndQuery: pathname + search,
      headers: Object.fromEntries(request.headers),
      body: (maxBytes) => readBody(request, maxBytes),
    });
    return new Response(body === '' ? null : body, { status, headers });
  };
}

async function readBody(request: Request, maxBytes: number): Promise<BodyVerdict> {
  if (request.bodyUsed) return bodyWasParsed(': give the request on before anything reads it');
  const collected = collectBody(maxBytes);
  const reader = request.body?.getReader();
  try {
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      if (collected.add(read.value)) continue;
      await reader?.cancel();
      break;
    }
  } catch {
    return bodyIncomplete();
  }
  return collected.end();
}
