/**
 * Headers of a request as they were sent. `request.headers` makes an object of all of them first, which takes longer than the gate
 * does; where one or two are looked at, they are looked at here.
 */
import type { IncomingMessage } from 'node:http';

type Sent = Pick<IncomingMessage, 'rawHeaders'>;

/** The value of a header, the first of several; undefined where it was not sent. `name` in lower case. */
export function firstHeader({ rawHeaders }: Sent, name: string): string | undefined {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (isNamed(rawHeaders[at] as string, name)) return rawHeaders[at + 1];
  }
  return undefined;
}

/** Every value that was sent of a header. */
export function allHeaders({ rawHeaders }: Sent, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (isNamed(rawHeaders[at] as string, name)) values.push(rawHeaders[at + 1] as string);
  }
  return values;
}

/** Whether the request has a body, read already or not. */
export function hasBody(request: Sent): boolean {
  if (firstHeader(request, 'transfer-encoding') !== undefined) return true;
  return Number(firstHeader(request, 'content-length') ?? 0) > 0;
}

function isNamed(sent: string, name: string): boolean {
  return sent.length === name.length && (sent === name || sent.toLowerCase() === name);
}
