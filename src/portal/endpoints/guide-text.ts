/** The hand-out (`docs/hand-out.md`) for somebody who is in the portal: without what its pages do, and with our address. Pure. */

export const GUIDE_PATH = '/guide';

/** The example of the hand-out that our address replaces. A test holds it against the page. */
export const EXAMPLE_ADDRESS = 'http://127.0.0.1:8080/services/';

/** Parts that the guide shows better, or that are not for somebody in the portal: from the first text to before the second. */
export const LEFT_OUT: readonly (readonly [from: string, to: string])[] = [
  ['# For receivers', '## What we agree on'],
  ['## What you get', '## Answer the challenge'],
];

/** Sentences about what the customer asks the operator for, and what it does itself in the portal. */
export const REWORDED: readonly (readonly [said: RegExp, instead: string])[] = [
  [/^## What we agree on[\s\S]*?(?=^- Your URL must)/m, '## What your receiver needs\n\n'],
  [
    /Tell us when your receiver is ready: we repeat the challenge on\s+request\./,
    'When your receiver is ready, press *Verify now* on the page of your endpoint.',
  ],
  [/\*\*2xx\*\* within 15 seconds means/, '**2xx** within the time-out of the webhook means'],
  [/up to 20 times in about\s+2\.5 days/, 'until the retries of the webhook are used up'],
  [/we stop until you ask us to start again\./, 'we stop until you start the webhook again.'],
  [/Tell us when you are back\./, 'Start the webhook again when your receiver is back.'],
  [
    /We tell you the new secret before we use it\. Accept both until the change: `isAuthentic` accepts a list\. Remove [^.]*\./,
    'Press *New secret* on the page of your endpoint, and choose when it is used first. Accept both until then: every ' +
      'program above accepts a list. Then remove the old one.',
  ],
  [/ask us for the right/, 'give the right to the application, or to the account that it acts as'],
  [
    /If it leaks, tell us immediately: we can revoke it and all tokens within seconds\./,
    'If it leaks, replace it on the page of the application, and revoke its tokens there.',
  ],
  [
    /^## Test it[\s\S]*/m,
    '## Test it\n\nPress *Send a test event* on the page of a webhook. *Deliveries* shows each request, and what your ' +
      'program answered.\n',
  ],
];

/** How a firewall knows us, if the addresses are on the page already. */
export const ADDRESS_ASKED = /^- If your firewall needs our address, ask us for it\. /m;

type GuideValues = {
  /** The address of the API; null if it is unknown. */
  readonly address: string | null;
  /** The page shows the addresses that requests come from. */
  readonly hasSources: boolean;
};

export function guideText(handOut: string, { address, hasSources }: GuideValues): string {
  let text = handOut;
  for (const [from, to] of LEFT_OUT) {
    const begin = text.indexOf(from);
    const end = text.indexOf(to, begin);
    if (begin >= 0 && end >= 0) text = text.slice(0, begin) + text.slice(end);
  }
  for (const [said, instead] of REWORDED) text = text.replace(said, () => instead);
  if (hasSources) text = text.replace(ADDRESS_ASKED, '- ');
  return address === null ? text : text.replaceAll(EXAMPLE_ADDRESS, () => `${address}/services/`);
}

/** The functions of the hand-out for Node: for programs without packages. */
export function nodeFunctions(handOut: string): string {
  return /```js\n([\s\S]*?)\n```/.exec(handOut)?.[1] ?? '';
}
