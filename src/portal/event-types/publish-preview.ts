/** One sentence below the choice of *Publish an event*: which webhooks would get it, and which of them wait. */
import { EVERYONE, OPERATOR_ONLY } from '../../domain/event.ts';
import type { WebhookState } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import type { Subscriber } from '../../store/port/directory.ts';
import type { Store } from '../../store/port/store.ts';
import { foretold } from '../../webhooks/missed.ts';
import { caught } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { formSummary, summaryView } from '../parts/form.ts';
import { capital, countOf, listText } from '../parts/text.ts';
import { customerNamed, YOUR_OWN } from '../record/owner.ts';

const PREVIEW_PATH = '/publish/preview';
const TITLE = 'Who gets it';
const NAMED = 5;

/** The script asks for it again after each change. */
export function previewRegion(text: Html): Html {
  return formSummary(TITLE, text, PREVIEW_PATH);
}

export function previewPage({ pages, store }: PageDependencies): PageRoute<'operator'> {
  return pages.act(PREVIEW_PATH, 'operator', 'operator', async ({ form }) =>
    summaryView(TITLE, await preview(store, form)),
  );
}

/** For the values in the form of *Publish an event*. Changes nothing. */
export async function preview(store: Store, sent: URLSearchParams): Promise<Html> {
  const audience = await audienceOf(store, sent);
  if (audience === null) return html`Choose a customer, and this line says which webhooks get the event.`;
  const data = parsed(sent.get('data') ?? '');
  if (data === undefined) return html`The data is not JSON yet.`;
  const draft = { type: sent.get('type') ?? '', subject: readText(sent, 'subject'), data, audience };
  const { gets, misses, more } = await foretold(store, draft);
  const names = await store.customers.names([...gets, ...misses].flatMap(({ customerId }) => customerId ?? []));
  const nameOf = ({ name, customerId }: Pick<Subscriber, 'name' | 'customerId'>): string => {
    const owner = customerId === null ? undefined : names.get(customerId);
    return owner === undefined ? (names.size === 0 ? name : `${name} · ${YOUR_OWN}`) : `${name} · ${owner}`;
  };
  const named = gets.map((one) => ({ name: nameOf(one), state: one.state }));
  return html`
    <p>${foretoldText(named, misses.length, more)}</p>
    ${misses.length === 0 ? null : missedList(misses.map((one) => ({ ...one, name: nameOf(one) })))}
  `;
}

/** The subscribed webhooks that would not get it, by the reason. */
function missedList(misses: readonly { readonly id: string; readonly name: string; readonly reason: string }[]): Html {
  const lines = [...Map.groupBy(misses, ({ reason }) => reason)].map(
    ([reason, same]) => html`
      <li>
        ${same.map(({ id, name }, at) => html`${at === 0 ? null : ', '}<a href="/webhooks/${id}">${name}</a>`)}:
        ${' '}<span class="quiet">${reason}</span>
      </li>
    `,
  );
  return html`
    <details class="summary-more"${attributes({ open: misses.length <= NAMED * 2 })}>
      <summary>Why ${misses.length === 1 ? 'it does' : 'they do'} not</summary>
      <ul>${lines}</ul>
    </details>
  `;
}

async function audienceOf(store: Store, sent: URLSearchParams): Promise<string | null> {
  const wanted = sent.get('for');
  if (wanted === 'everyone') return EVERYONE;
  if (wanted !== 'customer') return OPERATOR_ONLY;
  const text = readText(sent, 'customer');
  if (text === null) return null;
  try {
    return (await customerNamed(store, text)).id;
  } catch (error) {
    caught(error);
    return null;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Named = { readonly name: string; readonly state: WebhookState };

/** `others`: subscribed webhooks that would not get it; `more`: webhooks that were not examined. */
export function foretoldText(gets: readonly Named[], others: number, more: number): string {
  const namesOf = (fits: (state: WebhookState) => boolean): string[] =>
    gets.filter(({ state }) => fits(state)).map(({ name }) => name);
  const running = namesOf((state) => isRunnable(state) && state !== 'failing');
  const failing = namesOf((state) => state === 'failing');
  const stopped = namesOf((state) => !isRunnable(state));
  const clauses = [
    running.length === 0 ? '' : `goes to ${listed(running)}`,
    failing.length === 0 ? '' : `waits at ${listed(failing)}, which ${failing.length === 1 ? 'is' : 'are'} failing`,
    stopped.length === 0 ? '' : `waits at ${listed(stopped)}, until started`,
  ].filter((part) => part !== '');
  if (clauses.length === 0 && others + more === 0) return 'Nobody would get it: no webhook subscribes to its type.';
  const text = clauses.length === 0 ? 'Nobody would get it.' : `${capital(clauses.join('; '))}.`;
  if (more > 0) return `${text} ${countOf(more, 'more webhook')} were not examined.`;
  if (others === 0) return text;
  return `${text} ${countOf(others, 'other subscribed webhook')} ${others === 1 ? 'does' : 'do'} not.`;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, names.length > NAMED ? NAMED - 1 : NAMED);
  const more = names.length - shown.length;
  return listText(more === 0 ? shown : [...shown, `${more} more`]);
}
