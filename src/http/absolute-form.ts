/**
 * A target in absolute form, `http://api.example/livez`: what is sent to a proxy, and what a server has to take too (RFC 9112 §3.2.2).
 * What a proxy tells of somebody else's request is another matter: there it is refused (`canonicalPath`).
 */
import type { IncomingMessage } from 'node:http';

/** What stands before the path, be it whose it may; a user in it is none of HTTP (RFC 9110 §4.2.4), and it is never empty (§4.2.1). */
const ABSOLUTE = /^https?:\/\/([A-Za-z0-9._~%!$&'()*+,;=:[\]-]+)(?:$|(?=[/?]))/i;
const SLASH = 47;

/** The target in origin form (§3.2.1); one that is in neither form stays as it is. */
export function originForm(target: string): string {
  if (target.charCodeAt(0) === SLASH) return target;
  const found = ABSOLUTE.exec(target);
  if (found === null) return target;
  const rest = target.slice(found[0].length);
  return rest.charCodeAt(0) === SLASH ? rest : `/${rest}`;
}

/** Makes a request one with a target in origin form. The authority that the target had takes the place of `Host` (§3.2.2). */
export function readAbsoluteForm(request: IncomingMessage): void {
  const { url = '' } = request;
  if (url.charCodeAt(0) === SLASH) return;
  const [, authority] = ABSOLUTE.exec(url) ?? [];
  if (authority === undefined) return;
  request.url = originForm(url);
  request.headers.host = authority;
}
