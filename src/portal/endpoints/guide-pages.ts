/** `/guide`: what the programs of a customer need, with the values of one of its endpoints filled in. */
import type { Token, Tokens } from 'marked';
import { currentApiKey, type Endpoint, mustBeVerified, publicKeys } from '../../domain/endpoint.ts';
import { adviceForMessage } from '../../domain/outcome.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { isUnhealthy } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import { readAsset } from '../../kernel/assets.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import { PUBLIC_KEY_PREFIX } from '../../wire/ed25519.ts';
import { contentsOf } from '../documentation/contents.ts';
import { addressFor } from '../frame/browser.ts';
import type { PageCall } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { copyable, definitionList, maskedValue } from '../parts/details.ts';
import { newForm, selectField } from '../parts/fields.ts';
import { linkButton, pageHeader, section, submitButton } from '../parts/header.ts';
import { latestError } from '../parts/health.ts';
import { CHOICES_MAX } from '../parts/limits.ts';
import { folded } from '../parts/list.ts';
import { notice } from '../parts/mark.ts';
import { markdown, type Resolve, sectionsOf } from '../parts/markdown.ts';
import { readOwners } from '../record/owner.ts';
import { arrivalSection } from './guide-requests.ts';
import { guideLinks, stepsSection } from './guide-steps.ts';
import { GUIDE_PATH, type GuideVerification, guideText } from './guide-text.ts';
import { arrivingTypes } from './receiver-code.ts';
import { addressRows, codeForReceivers, lostSecretText } from './receiver-pages.ts';

export function guidePages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, store, publicUrl, egressAddresses } = dependencies;
  return [
    pages.view(GUIDE_PATH, 'both', async (call) => {
      const { query } = call;
      const { lexer } = await import('marked');
      const isCustomers = store.customerId !== null;
      const names = await endpointNames(store);
      const endpointId = readText(query, 'endpoint') ?? '';
      // The operator has the endpoints of all customers, and chooses one.
      const id = isUuidV7(endpointId) ? endpointId : isCustomers ? names[0]?.id : undefined;
      const endpoint = id === undefined ? null : await store.endpoints.get(id);
      const [webhooks, types] =
        endpoint === null
          ? [[], []]
          : await Promise.all([store.webhooks.ofEndpoint(endpoint.id), store.eventTypes.all()]);
      const tokens = lexer(
        guideText(readAsset('hand-out'), {
          address: addressFor(call.request, publicUrl()),
          hasSources: endpoint !== null && egressAddresses.length > 0,
          verification: endpoint === null ? 'required' : verificationOf(endpoint),
          webhooks,
        }),
      );
      const arrives = endpoint === null ? null : await arrivalOf(dependencies, endpoint, webhooks, query);
      const links = guideLinks(call, endpoint, webhooks);
      const own = [
        { heading: 'From zero to the first event', anchor: 'steps', depth: 2 },
        { heading: isCustomers ? 'Your endpoint' : 'The endpoint', anchor: 'endpoint', depth: 2 },
        ...(arrives === null ? [] : [{ heading: 'Requests', anchor: 'arrives', depth: 2 }]),
        { heading: 'Programs', anchor: 'programs', depth: 2 },
      ];
      const title = 'Guide';
      const content = html`
        ${pageHeader({
          title,
          lead: isCustomers
            ? 'How your program receives events: what it gets, how it verifies that, and how it responds.'
            : 'The guide as the programmers of your customers read it, with the values of the endpoint that you choose.',
        })}
        <div class="doc-page is-wide">
          ${contentsOf([...own, ...sectionsOf(tokens)])}
          <div class="doc-main">
            ${names.length === 0 || (names.length < 2 && endpoint !== null) ? null : endpointChoice(names, endpoint)}
            ${await troubleNotice(store, call.session.customerId, webhooks)} ${stepsSection(call, endpoint, links)}
            ${
              endpoint === null
                ? isCustomers
                  ? NO_ENDPOINT
                  : names.length === 0
                    ? NO_ENDPOINT_YET
                    : NONE_CHOSEN
                : values(call, endpoint, { egressAddresses, isCustomers })
            }
            ${arrives} ${codeForReceivers(arrivingTypes(webhooks, types), { title: 'Programs', id: 'programs' })}
            <article class="doc">${textOf(tokens, resolveTo(links))}</article>
          </div>
        </div>
      `;
      return { title, content };
    }),
  ];
}

/** Few people need the signature step by step, so it is folded. Links to it open it. */
function textOf(tokens: readonly Token[], resolve: Resolve): Html {
  const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading' && token.depth === 2;
  const at = tokens.findIndex((token) => isHeading(token) && token.text === STEP_BY_STEP);
  const end = tokens.findIndex((token, index) => index > at && isHeading(token));
  if (at < 0 || end < 0) return markdown(tokens, resolve);
  const [{ anchor = '' } = {}] = sectionsOf(tokens.slice(at, end));
  const content = html`<div id="${anchor}">${markdown(tokens.slice(at + 1, end), resolve)}</div>`;
  return html`
    ${markdown(tokens.slice(0, at), resolve)}
    ${folded({ title: STEP_BY_STEP, note: 'for a language without a program above', content })}
    ${markdown(tokens.slice(end), resolve)}
  `;
}

const STEP_BY_STEP = 'The signature step by step';

/** The webhooks that fail or have failed, each with its latest error; null if none does. `reader`: the customer who reads it. */
export async function troubleNotice(
  { attempts }: { readonly attempts: Pick<SharedPageDependencies['store']['attempts'], 'lastOutcomes'> },
  reader: string | null,
  webhooks: readonly Pick<Webhook, 'id' | 'name' | 'progress'>[],
): Promise<Html | null> {
  const troubled = webhooks.filter(({ progress }) => isUnhealthy(progress.state));
  if (troubled.length === 0) return null;
  const outcomes = await attempts.lastOutcomes(troubled.map(({ progress }) => progress.webhookNumber));
  const lines = troubled.map(({ id, name, progress: { state, webhookNumber } }) => {
    const failure = outcomes.get(webhookNumber)?.failure ?? null;
    const why = failure === null ? null : ([failure.errorClass, failure.errorMessage] as const);
    return html`
      <p>
        <a href="/webhooks/${id}">${name}</a> ${state === 'failed' ? 'has failed' : 'is failing'}.
        ${why === null ? null : html`${latestError(...why)} ${adviceForMessage(reader, ...why)}`}
      </p>
    `;
  });
  return notice({ tone: 'caution', text: html`${lines}` });
}

function verificationOf(endpoint: Endpoint): GuideVerification {
  if (endpoint.verification !== null) return 'handshake';
  return mustBeVerified(endpoint) ? 'required' : 'optional';
}

async function arrivalOf(
  dependencies: SharedPageDependencies,
  endpoint: Endpoint,
  webhooks: readonly Webhook[],
  query: URLSearchParams,
): Promise<Html> {
  const webhookId = readText(query, 'webhook');
  const shown = webhooks.find(({ id }) => id === webhookId) ?? webhooks[0] ?? null;
  return arrivalSection(dependencies, endpoint, webhooks, shown);
}

const NO_ENDPOINT = section({
  title: 'Your endpoint',
  id: 'endpoint',
  content: html`
    <p>You have no endpoint yet. With one, this page shows its values, and a request as your program gets it.</p>
    <p>${linkButton({ href: '/endpoints/new', label: 'New endpoint', icon: 'plus' })}</p>
  `,
});

const NO_ENDPOINT_YET = section({
  title: 'The endpoint',
  id: 'endpoint',
  content: html`
    <p>There is no endpoint yet. With one, this page shows its values, and a request as its program gets it.</p>
    <p>${linkButton({ href: '/endpoints/new', label: 'New endpoint', icon: 'plus' })}</p>
  `,
});

/** The operator has the endpoints of all customers. */
const NONE_CHOSEN = section({
  title: 'The endpoint',
  id: 'endpoint',
  content: html`
    <p>Choose an endpoint above, and the guide shows its values.</p>
  `,
});

/** Other pages of the documentation are the operator's. */
function resolveTo(links: Readonly<Record<string, string>>): Resolve {
  return (href) => (href.startsWith('#') || href.startsWith('https://') ? href : (links[href] ?? null));
}

/** For the choice of an endpoint. The operator's have the name of their owner. */
async function endpointNames(store: SharedPageDependencies['store']) {
  const names = await store.directory.endpointNames(store.customerId, CHOICES_MAX);
  if (store.customerId !== null || names.length === 0) return names;
  const owners = await readOwners(
    store,
    'endpoint',
    names.map(({ id }) => id),
  );
  return names.map((one) => ({ ...one, name: owners.namedAmong(one) }));
}

function endpointChoice(
  names: readonly { readonly id: string; readonly name: string }[],
  endpoint: Endpoint | null,
): Html {
  return html`
    <form method="get" action="${GUIDE_PATH}" class="filters" data-submits-choice>
      <div class="filter-fields">
        ${selectField(newForm({ endpoint: endpoint?.id }), {
          name: 'endpoint',
          label: 'Endpoint',
          isRequired: true,
          isSearched: true,
          choices: [
            ...(endpoint === null ? [{ value: '', label: 'Choose an endpoint' }] : []),
            ...names.map(({ id, name }) => ({ value: id, label: name })),
          ],
        })}
      </div>
      <div class="buttons">${submitButton({ label: 'Show', kind: 'plain' })}</div>
    </form>
  `;
}

function values(
  call: PageCall,
  endpoint: Endpoint,
  { egressAddresses, isCustomers }: { readonly egressAddresses: readonly string[]; readonly isCustomers: boolean },
): Html {
  const { id, name, url, sendApiKey } = endpoint;
  return section({
    title: isCustomers ? 'Your endpoint' : 'The endpoint',
    id: 'endpoint',
    content: definitionList([
      ['Name', html`<a href="/endpoints/${id}">${name}</a>`],
      ['Address', copyable(url, 'address'), 'POST requests are sent here.'],
      ...(sendApiKey
        ? [
            [
              'API key',
              maskedValue(currentApiKey(endpoint, call.now).reveal(), 'API key'),
              'In the header x-api-key of every request.',
            ] as const,
          ]
        : []),
      ['Secret', lostSecretText(call, endpoint)],
      ...publicKeys(endpoint, call.now).map(
        (key) => ['Public key', copyable(PUBLIC_KEY_PREFIX + key, 'public key'), 'Verifies v1a signatures.'] as const,
      ),
      ...addressRows(egressAddresses),
    ]),
  });
}
