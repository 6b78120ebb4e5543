import type { RetrySettings } from '../../domain/retry.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { carriesSeveral } from '../../domain/webhook-format.ts';
import { retriesText } from '../webhooks/format-fields.ts';

/** The hand-out (`docs/hand-out.md`) for someone who is in the portal: without what its pages do, and with our address. Pure. */

export const GUIDE_PATH = '/guide';

/** The example of the hand-out that our address replaces. A test holds it against the page. */
export const EXAMPLE_ADDRESS = 'http://127.0.0.1:8080/services/';

/** Parts that the guide shows better, or that are not for someone in the portal: from the first text to before the second. */
export const LEFT_OUT: readonly (readonly [from: string, to: string])[] = [
  ['# For receivers', '## What we agree on'],
  ['## What you get', '## The signature step by step'],
];

/** The pages of the portal that the guide links to, for the endpoint that it shows. */
export type GuideLink =
  | 'credentials'
  | 'deliveries'
  | 'live'
  | 'reference'
  | 'register'
  | 'applications'
  | 'test'
  | 'verify'
  | 'webhooks';

/** A link of the guide in Markdown. */
function linkTo(text: string, link: GuideLink): string {
  return `[${text}](${link})`;
}

const WEBHOOK = linkTo('webhook', 'webhooks');
const VERIFY = linkTo('Verify now', 'verify');

/** Sentences about what the customer asks the operator for, and what it does itself in the portal. */
export const REWORDED: readonly (readonly [said: RegExp, instead: string])[] = [
  [/^## What we agree on[\s\S]*?(?=^- Your URL must)/m, '## What your receiver needs\n\n'],
  [/unless you ask for it, and follow no\s+redirects/, 'unless the endpoint has one, and follow no redirects'],
  [
    /Tell us when your receiver is ready: we repeat the challenge on\s+request\./,
    `When your receiver is ready, press ${VERIFY}.`,
  ],
  [/\*\*2xx\*\* within 15 seconds means/, '**2xx** within the time-out of the webhook means'],
  [/we stop until you ask us to start again\./, `we stop until you start the ${WEBHOOK} again.`],
  [/Tell us when you are back\./, `Start the ${WEBHOOK} again when your receiver is back.`],
  [
    /We tell you the new secret before we use it\. Accept both until the change: `isAuthentic` accepts a list\. Remove [^.]*\./,
    `Press ${linkTo('New secret', 'credentials')} and choose when it is used first. Accept both until then: every program above ` +
      'accepts a list. Then remove the old one.',
  ],
  [
    /The order of events is kept only if we\s+have agreed on it; `offset`/,
    'The order of events is kept only if the webhook has an *Order*; `offset`',
  ],
  [
    /You need this only to call our API\. Send your client id and client secret\./,
    `You need this only to call our API. ${linkTo('Register an application', 'register')} and choose its scopes. The next page ` +
      `shows its client id and client secret: send both. The ${linkTo('API reference', 'reference')} lists the calls.`,
  ],
  [
    /ask us for the right/,
    `give the scope to the ${linkTo('application', 'applications')}, or the right to the account that it acts as`,
  ],
  [
    /If it leaks, tell us immediately: we can revoke it and all tokens within seconds\./,
    `If it leaks, replace it on the page of the ${linkTo('application', 'applications')}, and revoke its tokens there.`,
  ],
  [/^## Rotate the secret$/m, '## Use a new secret'],
  [/You need this only if no program above is in your language\. `authorization`/, '`authorization`'],
  [
    /^## Test it[\s\S]*?(?=^## )/m,
    `## Test it\n\nPress ${linkTo('Send a test event', 'test')}. The next page shows the request, and the response of your program. ` +
      `${linkTo('Live', 'live')} shows it, too. It is no delivery: ${linkTo('Deliveries', 'deliveries')} has the events that you ` +
      'subscribe to.\n\n',
  ],
];

/** The part of the hand-out about another response than 2xx. */
const AFTER_ANOTHER = /(?<=After \*\*any other response, or none\*\*, )we send the request again:[\s\S]*?(?=\.\n- )/;

/** The same as the webhooks of the endpoint do it. Their names are not in it: the text is Markdown. */
function afterAnother(webhooks: readonly RetrySettings[]): string {
  const [said, ...others] = new Set(webhooks.map(retriesText));
  if (areNeverSentAgain(webhooks))
    return `the events are dead: no webhook of the endpoint retries. You can send them again in ${linkTo('Deliveries', 'deliveries')}`;
  if (said !== undefined && others.length === 0) return `we send the request again: ${said}`;
  return 'we send the request again, until the retries of the webhook are used up';
}

/** Whether there are webhooks, and a failed request of none of them is sent again. */
export function areNeverSentAgain(webhooks: readonly RetrySettings[]): boolean {
  return webhooks.length > 0 && webhooks.every(({ maxAttempts }) => maxAttempts <= 1);
}

/** The part about requests with several records, for an endpoint that gets none. */
export const SPLIT = /^- \*\*413, or 400 twice\*\*[\s\S]*?(?=^- )/m;

/** How a firewall knows us, if the addresses are on the page already. */
export const ADDRESS_ASKED = /^- If your firewall needs our address, ask us for it\. /m;

/** How the endpoint is verified: before anything is sent, if someone wants it, or by the handshake of CloudEvents. */
export type GuideVerification = 'required' | 'optional' | 'handshake';

/** The sentence of the hand-out about a challenge before everything else, and the one about challenges. */
export const CHALLENGE_FIRST = /Before the first delivery we send a challenge, to make sure that the URL is yours\./;
export const CHALLENGE_SECTION = /^## Respond to the challenge[\s\S]*?(?=^## )/m;

const CHALLENGE_OPTIONAL = `If you press ${VERIFY}, we send a challenge, to make sure that the URL is yours.`;
const HANDSHAKE =
  '## Respond to the handshake\n\nBefore the first delivery we send an `OPTIONS` request with `WebHook-Request-Origin`, to make ' +
  'sure that you expect us. Respond with status 200 and the header `WebHook-Allowed-Origin` with the same value, or with ' +
  `\`*\`. \`WebHook-Allowed-Rate\` may say how many requests a minute you allow. When your receiver is ready, press ${VERIFY}.\n\n`;

type GuideValues = {
  /** The address of the API; null if it is unknown. */
  readonly address: string | null;
  /** The page shows the addresses that requests come from. */
  readonly hasSources: boolean;
  readonly verification: GuideVerification;
  /** The webhooks that send to the endpoint. */
  readonly webhooks: readonly (RetrySettings & Batching)[];
};

type Batching = Pick<Webhook, 'format' | 'batch' | 'maxBatchRecords'>;

/** Whether each request has one event. */
export function sendsOne({ format, batch, maxBatchRecords }: Batching): boolean {
  return !carriesSeveral({ format, batch }) || maxBatchRecords === 1;
}

export function guideText(handOut: string, { address, hasSources, verification, webhooks }: GuideValues): string {
  let text = handOut;
  for (const [from, to] of LEFT_OUT) {
    const begin = text.indexOf(from);
    const end = text.indexOf(to, begin);
    if (begin >= 0 && end >= 0) text = text.slice(0, begin) + text.slice(end);
  }
  for (const [said, instead] of REWORDED) text = text.replace(said, () => instead);
  text = text.replace(AFTER_ANOTHER, () => afterAnother(webhooks));
  if (webhooks.length > 0 && webhooks.every(sendsOne)) text = text.replace(SPLIT, '');
  if (verification === 'optional') text = text.replace(CHALLENGE_FIRST, CHALLENGE_OPTIONAL);
  if (verification === 'handshake') text = text.replace(CHALLENGE_SECTION, HANDSHAKE);
  if (hasSources) text = text.replace(ADDRESS_ASKED, '- ');
  return address === null ? text : text.replaceAll(EXAMPLE_ADDRESS, () => `${address}/services/`);
}

/** The functions of the hand-out for Node: for programs without packages. */
export function nodeFunctions(handOut: string): string {
  return /```js\n([\s\S]*?)\n```/.exec(handOut)?.[1] ?? '';
}

const SIGNATURES: readonly (readonly [untyped: string, typed: string])[] = [
  [
    'isAuthentic({ path, headers, body }, secrets,',
    'isAuthentic({ path, headers, body }: Received, secrets: readonly string[],',
  ],
  [
    'challengeAnswer({ path, headers }, secret)',
    "challengeAnswer({ path, headers }: Omit<Received, 'body'>, secret: string): string | null",
  ],
  ['function hmac(secret, text)', 'function hmac(secret: string, text: string): Buffer'],
];

const RECEIVED = `
/** A request. In \`node:http\`: \`path: request.url\`, \`headers: request.headers as Record<string, string>\`. */
type Received = { path: string; headers: Readonly<Record<string, string>>; body: Uint8Array };
`;

const EVENTS_OF = `

/** The data by event type. Other types may arrive, too. */
type Events = Record<string, unknown>;
type Arrived = { [Type in keyof Events]: { type: Type; messageId: string; data: Events[Type] } }[keyof Events];

/** The events of an authentic body in the format Records. None is a heartbeat: answer 2xx. */
export function eventsOf(body: Uint8Array): Arrived[] {
  const { records } = JSON.parse(Buffer.from(body).toString()) as { records: { value: Record<string, unknown> }[] };
  return records.map(({ value: { headers, ...data } }) => {
    const { eventType: type, messageId } = headers as { eventType: string; messageId: string };
    return { type, messageId, data: Object.values(data)[0] } as Arrived;
  });
}`;

/** The same with types, and with the events of a body. */
export function typedNodeFunctions(handOut: string): string {
  const [imports = '', ...lines] = nodeFunctions(handOut).split('\n');
  let code = `${imports}\n${RECEIVED}${lines.join('\n')}${EVENTS_OF}`;
  for (const [untyped, typed] of SIGNATURES) code = code.replace(untyped, () => typed);
  return code;
}
