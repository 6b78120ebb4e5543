/**
 * Origins that a response header may name. The URL standard lets a host have characters such as `*`, `;`, `,` and `'`, which mean something
 * else in a Content-Security-Policy (CSP 3 §2.3): `https://*` would be every host.
 */

const ORIGIN = /^https?:\/\/(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/** The origin of a URL, such as `https://shop.example:8443`; null if its host has other characters than letters, digits, `.`, `-`, `_`. */
export function originOf({ origin }: URL): string | null {
  return ORIGIN.test(origin) ? origin : null;
}
