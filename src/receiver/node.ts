/** A receiver behind Node's own servers and Express. The types say what is used of a request, so that none of Node's are needed. */
import { REFUSED_BODY_BYTES } from '../limits.ts';
import type { Answer, Receiver } from './receiver.ts';
import {
  type BodyVerdict,
  bodyIncomplete,
  bodyWasParsed,
  collectBody,
  isBytes,
  type ReceivedRequest,
} from './request.ts';

export type NodeRequest = {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** Express: the URL before routers cut off where they are mounted. */
  readonly originalUrl?: string | undefined;
  /** Name, value, name, value: `headers` has lost which ones came twice. */
  readonly rawHeaders: readonly string[];
  /** What a body parser made of the body; usable only where it left it as bytes (`express.raw`). */
  readonly body?: unknown;
  /** The bytes, where a platform keeps them beside a parsed body. */
  readonly rawBody?: unknown;
  readonly readableDidRead?: boolean | undefined;
  readonly readableEnded?: boolean | undefined;
  on(event: string, listener: (chunk: Uint8Array) => void): unknown;
  off(event: string, listener: (chunk: Uint8Array) => void): unknown;
  resume(): unknown;
  destroy(): unknown;
};

export type NodeResponse = {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
};

/** For `createServer(nodeHandler(receiver))` and `app.post('/hook', nodeHandler(receiver))`. */
export function nodeHandler(receiver: Receiver): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  return async (request, response) => {
    const { status, headers, body } = await receiveFrom(receiver, request);
    response.writeHead(status, { ...headers });
    response.end(body);
  };
}

/** What to answer to a request of Node's. The rest of a body that was refused unread flows by, up to a bound. */
export async function receiveFrom(receiver: Receiver, request: NodeRequest): Promise<Answer> {
  const given = [request.rawBody, request.body].find(isBytes);
  const received: ReceivedRequest = {
    method: request.method ?? '',
    pathAndQuery: request.originalUrl ?? request.url ?? '',
    headers: headersOf(request.rawHeaders),
    body: given ?? ((maxBytes) => readBody(request, maxBytes)),
  };
  const answer = await receiver.receive(received);
  if (request.readableEnded !== true) letFlow(request);
  return answer;
}

function headersOf(raw: readonly string[]): Record<string, string[]> {
  const headers = new Map<string, string[]>();
  for (let at = 0; at < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at]?.toLowerCase(), raw[at + 1]];
    headers.set(name, [...(headers.get(name) ?? []), value]);
  }
  return Object.fromEntries(headers);
}

async function readBody(request: NodeRequest, maxBytes: number): Promise<BodyVerdict> {
  if (request.readableDidRead === true || request.readableEnded === true) {
    return bodyWasParsed(
      ": express.raw({ type: '*/*', inflate: false }), or mount the receiver before what reads bodies",
    );
  }
  const collected = collectBody(maxBytes);
  return new Promise((resolve) => {
    const finish = (verdict: BodyVerdict): void => {
      for (const [event, listener] of Object.entries(listeners)) request.off(event, listener);
      resolve(verdict);
    };
    const listeners = {
      data: (chunk: Uint8Array): void => {
        if (!collected.add(chunk)) finish(collected.end());
      },
      end: (): void => finish(collected.end()),
      error: (): void => finish(bodyIncomplete()),
      close: (): void => finish(bodyIncomplete()),
    };
    for (const [event, listener] of Object.entries(listeners)) request.on(event, listener);
  });
}

/** A sender that is still writing reads no answer; one that goes on and on is cut off. */
function letFlow(request: NodeRequest): void {
  let left = REFUSED_BODY_BYTES;
  request.on('data', (chunk) => {
    left -= chunk.length;
    if (left < 0) request.destroy();
  });
  // An error after the answer is of no interest, and unheard it would end the process.
  request.on('error', () => {});
  request.resume();
}
