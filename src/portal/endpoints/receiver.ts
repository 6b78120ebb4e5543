/** What the receiver needs: URL, API key, secret, and code that verifies deliveries. */
import { type Html, html } from '../../http/html.ts';
import { type AssetName, readAsset } from '../../kernel/assets.ts';
import { currentApiKey, type Endpoint } from '../../webhooks/endpoint.ts';
import { type PageCall, pathId } from '../call.ts';
import type { PageDependencies, PageRoute } from '../page.ts';
import { codePanels, copyable, definitionList, secretBox } from '../parts/details.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { notice } from '../parts/mark.ts';
import { verifyButton } from './challenge.ts';

/** `/endpoints/{id}/receiver`: the same page later, without the secret. */
export function receiverPage({ pages, services: { endpoints } }: PageDependencies): PageRoute {
  return pages.view('/endpoints/{id}/receiver', async (call) => {
    const endpoint = await endpoints.get(pathId(call));
    const title = 'What the receiver needs';
    const crumbs = [
      { href: '/endpoints', label: 'Endpoints' },
      { href: `/endpoints/${endpoint.id}`, label: endpoint.name },
    ];
    return { title, content: html`${pageHeader({ title, crumbs })}${tellReceiver(call, endpoint, null)}` };
  });
}

/** The page after the creation of an endpoint. It shows the secret once. */
export function createdView(call: PageCall, endpoint: Endpoint, isMade: boolean): { title: string; content: Html } {
  const { id, name, tokenChallenge, verified } = endpoint;
  const title = `${name} is created`;
  const header = pageHeader({
    title,
    crumbs: [{ href: '/endpoints', label: 'Endpoints' }],
    lead: 'Tell the receiver what stands here, then go on.',
    actions: [
      linkButton({ href: `/endpoints/${id}`, label: 'To the endpoint' }),
      linkButton({ href: `/webhooks/new?endpoint=${id}`, label: 'Create a webhook', kind: 'primary', icon: 'next' }),
    ],
  });
  const challenge =
    !tokenChallenge || verified
      ? null
      : notice({
          tone: 'info',
          title: 'It is off until it has answered the challenge.',
          text: isMade
            ? html`<p>It was challenged just now and could not answer: nobody there has the secret yet. Hand the secret over first.</p><p>${verifyButton(call, endpoint, false)}</p>`
            : html`<p>It was challenged just now, and did not answer rightly. <a href="/endpoints/${id}#challenge">See what came.</a></p><p>${verifyButton(call, endpoint, false)}</p>`,
        });
  const secret = isMade ? endpoint.secret.reveal() : null;
  return { title, content: html`${header}${challenge}${tellReceiver(call, endpoint, secret)}` };
}

/** `secret` is null if it was shown before or was given by the user. */
function tellReceiver({ now }: PageCall, endpoint: Endpoint, secret: string | null): Html {
  const apiKey = currentApiKey(endpoint, now).reveal();
  const isBearer = endpoint.oauthTokenUrl !== null;
  return html`${section({
    title: 'For whoever runs the receiver',
    lead: 'Send the secret on another way than the rest, and never by mail.',
    content: html`<div class="stack">${
      secret === null
        ? null
        : secretBox({
            label: 'Secret',
            value: secret,
            note: 'The receiver checks signatures with it. It is kept sealed and cannot be shown again: whoever loses it is given a new one by rotation.',
          })
    }${definitionList([
      ['Address', copyable(endpoint.url, 'address'), 'Requests are POST, over HTTPS, from Sallyport.'],
      ['API key', copyable(apiKey, 'API key'), 'In X-Api-Key of every request: a first look at who calls.'],
      ...(secret === null ? [['Secret', html`<span class="quiet">as it was handed over</span>`] as const] : []),
      [
        'Proof',
        isBearer
          ? 'A bearer token from the OAuth server of the receiver, in Authorization.'
          : 'An HMAC-SHA256 signature in Authorization, over path, date, hash of the body and custom headers.',
      ],
      ['Answer', '2xx, as soon as what came is safe. Everything else is tried again.'],
    ])}</div>`,
  })}${isBearer ? null : verifyingCode()}`;
}

function verifyingCode(): Html {
  return section({
    title: 'Code that verifies',
    lead: html`For TypeScript and JavaScript with the package <code>sallyport-receiver</code>, which does all of it. For other languages the core: whole programs, which answer the challenge, decrypt and unzip as well, are in <code>docs/receivers/</code>, and every rule stands in <code>docs/receive-webhooks.md</code>.`,
    content: codePanels('Verify a delivery', receiverCode()),
  });
}

type CodeExample = { readonly label: string; readonly code: string };

const PROGRAMS: readonly (readonly [label: string, asset: AssetName, excerpt: (text: string) => string])[] = [
  ['TypeScript', 'receivers/javascript', firstExample],
  ['Python', 'receivers/python', markedPart],
  ['Go', 'receivers/go', markedPart],
  ['Java', 'receivers/java', markedPart],
  ['C#', 'receivers/csharp', markedPart],
  ['PHP', 'receivers/php', markedPart],
  ['Ruby', 'receivers/ruby', markedPart],
];

let made: readonly CodeExample[] | null = null;

/** Read at the first use. */
export function receiverCode(): readonly CodeExample[] {
  made ??= PROGRAMS.map(([label, asset, excerpt]) => ({ label, code: excerpt(readAsset(asset)) }));
  return made;
}

/** The lines between `verify:begin` and `verify:end`, without their common indent. */
export function markedPart(text: string): string {
  const lines = text.split('\n');
  const begin = lines.findIndex((line) => line.includes('verify:begin'));
  const end = lines.findIndex((line) => line.includes('verify:end'));
  const part = lines.slice(begin + 1, end);
  const indents = part.filter((line) => line.trim() !== '').map((line) => /^[ \t]*/.exec(line)?.[0].length ?? 0);
  const indent = Math.min(...indents);
  return part
    .map((line) => line.slice(indent))
    .join('\n')
    .trim();
}

/** The first example of a documentation page: the one for `node:http`. */
export function firstExample(markdown: string): string {
  return /```ts\n([\s\S]*?)\n```/.exec(markdown)?.[1] ?? '';
}
