/** The hand-out (`docs/hand-out.md`) for one customer: its endpoint, its API key and our address in place of the examples. Pure. */

export const GUIDE_PATH = '/guide';

export type GuideValues = {
  /** The customer's endpoint; null before it has one. */
  readonly endpoint: { readonly url: string; readonly apiKey: string } | null;
  /** The address of the API; null if it is unknown. */
  readonly address: string | null;
};

/** The examples of the hand-out that a value replaces. A test holds them against the page. */
export const EXAMPLES = {
  path: 'POST /hooks HTTP/1.1',
  apiKey: 'x-api-key: 36898c65f9c2684a5109791ee039d156',
  address: 'http://127.0.0.1:8080/services/',
} as const;

/** Parts that are not for somebody who is in the portal already: from the first line to before the second. */
export const LEFT_OUT: readonly (readonly [from: string, to: string])[] = [
  ['# For receivers', 'You get webhooks from us'],
  ['- If we gave you a link to a portal', '- Your URL must have'],
  ['## Test it', ''],
];

export function guideText(handOut: string, { endpoint, address }: GuideValues): string {
  let text = handOut;
  for (const [from, to] of LEFT_OUT) {
    const begin = text.indexOf(from);
    const end = to === '' ? text.length : text.indexOf(to, begin);
    if (begin >= 0 && end >= 0) text = text.slice(0, begin) + text.slice(end);
  }
  if (endpoint !== null) {
    const { host, pathname, search } = new URL(endpoint.url);
    text = text
      .replaceAll(EXAMPLES.path, () => `POST ${pathname}${search} HTTP/1.1\nhost: ${host}`)
      .replaceAll(EXAMPLES.apiKey, () => `x-api-key: ${endpoint.apiKey}`);
  }
  return address === null ? text : text.replaceAll(EXAMPLES.address, () => `${address}/services/`);
}
