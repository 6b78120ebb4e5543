/**
 * The editor of a webhook's filter: a plain text area with the paths of the chosen event types below it, and a preview with the latest
 * events. The script (`assets/filter.js`) completes paths, operators and values from the rows of the table.
 */

import { type EventType, matchingTypes } from '../../domain/event.ts';
import { filterProblem } from '../../domain/filter.ts';
import { COMPARISONS, filterText } from '../../domain/filter-text.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { isObject, validate } from '../../kernel/validation.ts';
import type { Store } from '../../store/port/store.ts';
import { type FilterPath, filterPaths } from '../../webhooks/filter-paths.ts';
import { previewFilter, previewOnSamples } from '../../webhooks/filter-preview.ts';
import { type FilterPreview, filterPreviewInput } from '../../webhooks/webhook-schema.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { previewButton } from '../parts/form.ts';
import { pageHeader } from '../parts/header.ts';
import { SAMPLE_BYTES } from '../parts/limits.ts';
import { table } from '../parts/list.ts';
import { badge, icon, notice } from '../parts/mark.ts';
import { countOf, relativeTime, sentence } from '../parts/text.ts';
import type { FormField } from '../record/field-table.ts';
import { jsonObject, placedProblem } from '../record/json-field.ts';

const NAME = 'filter';
const PATHS = '/webhooks/new/filter-paths';
const PREVIEW = '/webhooks/new/filter-preview';

/** `patternsOf`: the chosen events of the form. */
export function filterField(
  eventTypes: readonly EventType[],
  patternsOf: (sent: URLSearchParams) => string[],
): FormField {
  const field = jsonObject({
    label: 'Filter',
    rows: 6,
    placeholder: '{"data.total": {"$gte": 100}, "data.country": {"$in": ["DE", "FR"]}}',
    hint: html`
      The conditions as an object.
      <span data-filter-keys hidden>
        Suggestions appear while you type: choose one with the arrow keys and Enter. Ctrl Space shows them, Escape
        hides them.
      </span>
    `,
  });
  return {
    ...field,
    draw: (state, name) => {
      const paths = filterPaths(subscribed(patternsOf(state.fields), eventTypes));
      return html`
        <div class="filter-editor" data-filter-editor${COMPARED}>
          <p class="hint">
            Without a condition, all events of these types pass. Applies to events that are published from now on.
          </p>
          ${ROWS}
          <details class="filter-paths" data-filter-json open>
            <summary>As JSON</summary>
            <div class="fields">
              ${field.draw(state, name)}
              ${OPERATORS}
            </div>
          </details>
          <div class="buttons">${PREVIEW_BUTTON}</div>
          <div id="filter-preview" aria-live="polite">${inWords(field.read, state.fields)}</div>
          ${pathsRegion(pathsTable(paths))}
        </div>
      `;
    },
  };
}

/** For the scripts: the rows and the suggestions offer them. */
const COMPARED = attributes({ 'data-comparisons': JSON.stringify(COMPARISONS) });

/** The filter as the form has it. Problems are beside the field. */
function inWords(read: FormField['read'], sent: URLSearchParams): Html | null {
  try {
    const filter = read(sent, NAME);
    return isObject(filter) && filterProblem(filter) === null ? html`<p>Only if ${filterText(filter)}.</p>` : null;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** The filter of a form; undefined if there is none. Throws a `Refusal` if it is not JSON. */
export function typedFilter(sent: URLSearchParams): unknown {
  return filterField([], () => []).read(sent, NAME);
}

/** The script (`assets/filter-rows.js`) makes a row for each condition, and folds the JSON that the rows can show. */
const ROWS = html`
  <div class="filter-rows" data-filter-rows hidden>
    <label class="filter-match" hidden>
      An event passes if
      <select data-filter-match>
        <option value="all">all of these hold</option>
        <option value="any">any of these holds</option>
      </select>
    </label>
    <div class="filter-list" data-filter-list></div>
    <p class="hint" data-filter-complex hidden>
      The JSON below is not finished, or has more than rows can show. Change it there.
    </p>
    <div class="buttons">
      <button type="button" class="button button-plain" data-filter-add>${icon('plus')}<span>Add a condition</span></button>
    </div>
  </div>
`;

const OPERATORS = html`
  <details class="filter-paths">
    <summary>Operators in JSON</summary>
    <p class="hint">
      Conditions on type, subject and data: $eq, $neq, $gt, $gte, $lt, $lte, $in, $nin, $startsWith, $endsWith, $exist,
      $and, $or, $not.
    </p>
  </details>
`;

const PREVIEW_BUTTON = previewButton({
  action: PREVIEW,
  target: 'filter-preview',
  label: 'Try the filter',
});

/** The script loads the paths again when other events are chosen. */
function pathsRegion(content: Html): Html {
  const refresh = attributes({
    'data-hx-get': PATHS,
    'data-hx-trigger': "load, change from:'closest form'",
    'data-hx-include': '[name="eventTypes"], [name="morePatterns"]',
    'data-hx-sync': 'this:replace',
  });
  return html`<div${refresh}>${content}</div>`;
}

function pathsTable(paths: readonly FilterPath[]): Html {
  const rows = paths.map(({ path, types, description, values }) => [
    html`
      <code${attributes({ 'data-path': path, 'data-types': types.join(' '), 'data-values': JSON.stringify(values) })}>
        ${path}
      </code>
      ${description === null ? null : html`<span class="cell-hint">${description}</span>`}
    `,
    types.join(' or '),
    values.map((value) => html`<code>${JSON.stringify(value)}</code> `),
  ]);
  return html`
    <details class="filter-paths">
      <summary>What a filter of these events can look at</summary>
      ${table({
        caption: 'Paths of the chosen event types',
        columns: [{ label: 'Path', kind: 'main' }, { label: 'Type' }, { label: 'Values of samples' }],
        rows,
      })}
      <p class="hint">From the schemas and samples of the event types, and from their latest events.</p>
    </details>
  `;
}

/** The event types that the people of the portal may choose. */
export function shownTypes({ customerId, eventTypes }: Pick<Store, 'customerId' | 'eventTypes'>): Promise<EventType[]> {
  return customerId === null ? eventTypes.all() : eventTypes.offered();
}

function subscribed(patterns: readonly string[], eventTypes: readonly EventType[]): EventType[] {
  const names = new Set(patterns.flatMap((pattern) => matchingTypes(pattern, eventTypes).map(({ name }) => name)));
  return eventTypes.filter(({ name }) => names.has(name));
}

/** Latest events that are read for further paths and values. */
const LATEST_READ = 20;

export function filterPages(
  { pages, store }: Pick<SharedPageDependencies, 'pages' | 'store'>,
  patternsOf: (sent: URLSearchParams) => string[],
): PageRoute<'both'>[] {
  return [
    pages.page(PATHS, 'both', 'administrator', async ({ query }) => {
      const types = subscribed(patternsOf(query), await shownTypes(store));
      const partial = pathsTable(filterPaths(types, await latestData(store, types)));
      const title = 'What a filter can look at';
      return { title, content: html`${pageHeader({ title })}${partial}`, partial };
    }),
    pages.act(PREVIEW, 'both', 'administrator', async ({ form, now }) => {
      const partial = await previewOf(store, patternsOf(form), form, now);
      const title = 'Preview of the filter';
      const lead = 'Go back in your browser to the form: it has everything that you entered.';
      return { title, content: html`${pageHeader({ title, lead })}${partial}`, partial };
    }),
  ];
}

/** Only of events that the people of this portal may see, and none that must be encrypted. */
async function latestData({ events, customerId }: Store, types: readonly EventType[]): Promise<unknown[]> {
  const names = types.filter(({ encryptionRequired }) => !encryptionRequired).map(({ name }) => name);
  const limits = { events: LATEST_READ, maxBytes: LATEST_READ * SAMPLE_BYTES };
  return (await events.latest(names, customerId, limits)).map(({ dataJson }) => JSON.parse(dataJson) as unknown);
}

/** A filter that is wrong is a result too. */
async function previewOf(store: Store, patterns: readonly string[], form: URLSearchParams, now: number): Promise<Html> {
  try {
    const filter = typedFilter(form) ?? null;
    const input = validate(filterPreviewInput, { filter, limit: PREVIEWED });
    const words = input.filter === null ? null : `Only if ${filterText(input.filter)}.`;
    if (patterns.length === 0)
      return problemNotice('Choose events first: the filter is tried on their latest ones.', words);
    const asked = { customerId: store.customerId, eventTypes: patterns };
    const onEvents = await previewFilter(store, asked, input);
    if (onEvents.judged > 0) return resultOf(onEvents, words, now);
    const types = subscribed(patterns, await shownTypes(store));
    const onSamples = await previewOnSamples(types, input, store.customerId);
    return onSamples.judged > 0 ? resultOf(onSamples, words, null) : problemNotice(NOTHING_TO_TRY, words);
  } catch (error) {
    // Any other refusal is not about the filter.
    if (!(error instanceof Refusal) || error.code !== 'validation_failed') throw error;
    const details = error.details ?? [];
    const isWhole = details.some(({ field }) => field === NAME);
    const problem = placedProblem(details, NAME) ?? error.message;
    return problemNotice(sentence(isWhole ? `The filter ${problem}` : `In the filter, ${problem}`), null);
  }
}

const PREVIEWED = 100;
/** Rows of the preview. */
const SHOWN = 10;

function problemNotice(text: string, words: string | null): Html {
  return html`
    <div class="stack">${words === null ? null : html`<p>${words}</p>`}${notice({ tone: 'caution', text })}</div>
  `;
}

const NOTHING_TO_TRY =
  'No event of these types has been published yet, and none has a sample, so there is nothing to try it on.';

/** Some that pass and some that do not, the newest first. With `now` null these are samples, and their ids those of event types. */
function resultOf({ judged, passed, items }: FilterPreview, words: string | null, now: number | null): Html {
  const few = (passes: boolean): FilterPreview['items'] =>
    items.filter((item) => item.passes === passes).slice(0, SHOWN / 2);
  const chosen = new Set(judged <= SHOWN ? items : [...few(true), ...few(false)]);
  const rows = items
    .filter((item) => chosen.has(item))
    .map(({ eventId, eventType, createdAt, passes, reasons }) => [
      html`
        <a href="${now === null ? `/event-types/${eventId}` : `/deliveries?q=${eventId}`}"><code>${eventType}</code></a>
        <span class="cell-hint">${now === null ? 'its sample' : relativeTime(Date.parse(createdAt), now)}</span>
      `,
      passes ? badge('positive', 'passes', 'check') : badge('neutral', 'does not pass'),
      passes
        ? html`<span class="quiet">–</span>`
        : html`<ul class="reasons">${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>`,
    ]);
  const title =
    now === null
      ? `No event of these types has been published yet. ${passed} of ${countOf(judged, 'sample')} would pass`
      : `${passed} of the latest ${countOf(judged, 'event')} would pass`;
  return html`
    <div class="stack">
      <p><strong>${title}.</strong> ${words ?? 'Without a filter, all events pass.'}</p>
      ${table({
        caption: 'The events that were judged',
        columns: [{ label: 'Event', kind: 'main' }, { label: 'Result' }, { label: 'Why not' }],
        rows,
      })}
      ${chosen.size < judged ? html`<p class="hint">The newest that pass and the newest that do not.</p>` : null}
    </div>
  `;
}
