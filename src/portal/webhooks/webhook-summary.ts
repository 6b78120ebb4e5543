/** One sentence beside the form of a webhook: what it will do with the values in the form; empty without events. */

import { filterProblem } from '../../domain/filter.ts';
import { filterText } from '../../domain/filter-text.ts';
import { carriesSeveral, WEBHOOK_FORMATS } from '../../domain/webhook-format.ts';
import type { Html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { isObject } from '../../kernel/validation.ts';
import { ifFound } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { formSummary, summaryView } from '../parts/form.ts';
import { countOf, listText } from '../parts/text.ts';
import { typedFilter } from './filter-editor.ts';
import { patternsOf } from './webhook-events.ts';

const PATH = '/webhooks/new/summary';
const TITLE = 'What will happen';
const EVENTS_NAMED = 3;

/** The endpoint that is chosen. */
type Destination = { readonly name: string; readonly enabled: boolean };

/** The script asks for it again after each change. */
export function summaryRegion(sent: URLSearchParams, destination: Destination | null, isNew: boolean): Html {
  return formSummary(TITLE, webhookSummary(sent, destination, isNew), PATH);
}

export function summaryPage({ pages, services: { endpoints } }: SharedPageDependencies): PageRoute<'both'> {
  return pages.act(PATH, 'both', 'administrator', async ({ form }) => {
    const id = form.get('endpointId') ?? '';
    const destination = id === '' ? null : await ifFound(endpoints.get(id));
    return summaryView(TITLE, webhookSummary(form, destination, form.has('mode')));
  });
}

/** `isNew`: the webhook does not exist yet. Without `endpointId` in the form it is in mode `pull`. */
export function webhookSummary(sent: URLSearchParams, destination: Destination | null, isNew: boolean): string {
  const patterns = patternsOf(sent);
  const isPulled = sent.get('mode') === 'pull' || !sent.has('endpointId');
  const given = sent.get('name')?.trim();
  if (patterns.length === 0) return '';
  const name = given || 'The webhook';
  const events = patternsText(patterns);
  const condition = filterSentence(sent, isPulled ? 'keeps' : 'sends');
  if (isPulled)
    return `${name} keeps ${events} for its reader.${condition}${isNew ? ' It starts immediately.' : LATER}`;
  if (destination === null)
    return `Choose the endpoint to which ${given || 'the webhook'} sends ${events}.${condition}`;
  const key = sent.get('encryptionKeyName') ?? '';
  const how = [
    key === '' ? '' : `encrypted with the key ${key}`,
    carriesSeveral(formatOf(sent)) ? batchText(sent.get('maxBatchRecords') ?? '') : ONE_EACH,
    sent.has('thin') ? 'without the data' : '',
    ORDERS[sent.get('ordered') ?? ''] ?? '',
    rateText(sent.get('maxRecordsPerSecond') ?? ''),
  ].filter((part) => part !== '');
  const sends = `${name} sends ${events} to ${destination.name}, ${how.join(', ')}.`;
  return `${sends}${condition}${isNew ? startText(sent.has('start'), destination) : LATER}`;
}

const ORDERS: Readonly<Record<string, string>> = { all: 'in order', key: 'in the order of each key' };

const LATER = ' A change of events applies from now on. The other settings also apply to pending deliveries.';

function startText(isStarted: boolean, { enabled }: Destination): string {
  if (!isStarted) return ' Deliveries stay pending until you start it.';
  return enabled
    ? ' It starts immediately.'
    : ' It can start once its endpoint is enabled; until then deliveries stay pending.';
}

/** `order.created and order.shipped`, `every order event and 4 other kinds of events`. */
export function patternsText(patterns: readonly string[]): string {
  if (patterns.includes('*')) return 'every event';
  const named = patterns.slice(0, patterns.length > EVENTS_NAMED ? EVENTS_NAMED - 1 : EVENTS_NAMED).map(patternText);
  const more = patterns.length - named.length;
  return listText(more === 0 ? named : [...named, `${more} other kinds of events`]);
}

function patternText(pattern: string): string {
  return pattern.endsWith('.*') ? `every ${pattern.slice(0, -2)} event` : pattern;
}

/** Problems are beside the field. */
function filterSentence(sent: URLSearchParams, does: 'keeps' | 'sends'): string {
  try {
    const filter = typedFilter(sent);
    if (!isObject(filter)) return '';
    return filterProblem(filter) === null ? ` It ${does} an event only if ${filterText(filter)}.` : WRONG_FILTER;
  } catch (error) {
    if (error instanceof Refusal) return WRONG_FILTER;
    throw error;
  }
}

const WRONG_FILTER = ' Its filter is not finished.';

const ONE_EACH = 'each in a request of its own';

function formatOf(sent: URLSearchParams) {
  const format = WEBHOOK_FORMATS.find((one) => one === sent.get('format')) ?? 'records';
  return { format, batch: sent.has('batch') };
}

function batchText(typed: string): string {
  const records = typed.trim() === '' ? 100 : Number(typed);
  if (records === 1) return ONE_EACH;
  return Number.isInteger(records) ? `up to ${countOf(records, 'event')} in a request` : 'in batches';
}

function rateText(typed: string): string {
  return typed.trim() === '' ? '' : `at most ${typed.trim()} a second`;
}
