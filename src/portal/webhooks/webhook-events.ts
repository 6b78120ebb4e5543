/** The events of a webhook in its form: check boxes by category, and a text field for patterns without a box. */

import { type EventType, STATUS_CATEGORY } from '../../domain/event.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { type FormState, idOf, problemLine, textField } from '../parts/fields.ts';
import { fieldGroup } from '../parts/form.ts';
import type { FormField } from '../record/field-table.ts';

/** The field with the checked patterns. */
export const NAME = 'eventTypes';

/** The field with the typed ones. */
export const MORE = 'morePatterns';

/** Known patterns are check boxes. Others are typed in a text field. */
export function eventsField(eventTypes: readonly EventType[]): FormField {
  const offered = new Set(['*', ...eventTypes.flatMap(({ name }) => [name, `${categoryOf(name)}.*`])]);
  return {
    title: 'Events',
    draw: (state) => eventsStep(state, eventTypes),
    read: patternsOf,
    fill: (value) => {
      const patterns = (value ?? []) as readonly string[];
      return {
        [NAME]: patterns.filter((pattern) => offered.has(pattern)),
        [MORE]: patterns.filter((pattern) => !offered.has(pattern)).join(' '),
      };
    },
  };
}

/** The checked and the typed patterns, each once. */
export function patternsOf(sent: URLSearchParams): string[] {
  const typed = (sent.get(MORE) ?? '').split(/[\s,]+/).filter((pattern) => pattern !== '');
  return [...new Set([...sent.getAll(NAME), ...typed])];
}

function categoryOf(name: string): string {
  return name.slice(0, name.indexOf('.'));
}

/** A box of a pattern. */
type Box = (pattern: string, hint: string | null) => Html;

/** Check boxes by category, the whole category above its types. Patterns without a box are in the text field below. */
function eventsStep(form: FormState, eventTypes: readonly EventType[]): Html {
  const box = boxesOf(form);
  const problem = form.problem(NAME);
  const described = attributes({
    id: idOf(NAME),
    'aria-describedby': problem === null ? null : `${idOf(NAME)}-problem`,
  });
  const categories = [...byCategory(eventTypes)].sort(ownFirst);
  return fieldGroup('2. Which events', 'The webhook receives events that are published from its creation on.', [
    html`
      <fieldset class="field field-wide" data-events${described}>
        <legend class="visually-hidden">Events</legend>
        ${problemLine(NAME, 'Events', problem)}
        ${FILTER}
        <div class="categories">
          ${categories.map(([category, types]) => categoryBoxes(form, category, types, box))}
          <div class="category">
            ${box('*', 'All events, including types added later. Needs a key, because events that must be encrypted may be among them.')}
          </div>
        </div>
      </fieldset>
    `,
    textField(form, {
      name: MORE,
      label: 'Other categories',
      isCode: true,
      placeholder: 'stock.* invoice.*',
      hint: 'Categories without a type yet, separated by spaces.',
    }),
  ]);
}

/** Numbers the boxes, for their hints. */
function boxesOf(form: FormState): Box {
  const chosen = new Set(form.values(NAME));
  let boxes = 0;
  return (value, hint) => {
    boxes += 1;
    const id = `${idOf(NAME)}-${boxes}`;
    const input = attributes({
      id,
      name: NAME,
      type: 'checkbox',
      value,
      checked: chosen.has(value),
      'aria-describedby': hint === null ? null : `${id}-hint`,
    });
    return html`
      <div class="choice">
        <input${input}>
        <div>
          <label for="${id}"><code>${value}</code></label>
          ${hint === null ? null : html`<p class="hint" id="${id}-hint">${hint}</p>`}
        </div>
      </div>
    `;
  };
}

function categoryBoxes(form: FormState, category: string, types: readonly EventType[], box: Box): Html {
  const all = box(`${category}.*`, `All ${category} events, including types added later.`);
  const each = types.map(({ name, description, encryptionRequired }) =>
    box(name, `${description}${encryptionRequired ? ' Encrypted only.' : ''}`.trim() || null),
  );
  const boxes = html`${all}<div class="category-types">${each}</div>`;
  if (`${category}.` !== STATUS_CATEGORY) return html`<div class="category">${boxes}</div>`;
  const isChosen = form.values(NAME).some((pattern) => pattern.startsWith(STATUS_CATEGORY));
  return html`
    <details class="category"${attributes({ open: isChosen })}>
      <summary>Events about webhooks themselves, for monitoring</summary>
      ${boxes}
    </details>
  `;
}

/** The script shows it, and does the filtering. */
const FILTER = html`
  <label class="event-filter" hidden>
    <span class="visually-hidden">Filter the events</span>
    <input type="search" data-event-filter placeholder="Filter by name or description" autocomplete="off">
  </label>
  <p class="hint" data-no-events role="status" hidden>No event fits the filter.</p>
`;

function byCategory(eventTypes: readonly EventType[]): ReadonlyMap<string, readonly EventType[]> {
  return Map.groupBy(eventTypes, ({ name }) => categoryOf(name));
}

/** Custom categories first, then the built-in ones. */
function ownFirst(a: readonly [string, readonly EventType[]], b: readonly [string, readonly EventType[]]): number {
  const builtIn = ([, types]: readonly [string, readonly EventType[]]): number =>
    Number(types.every((type) => type.builtIn));
  return builtIn(a) - builtIn(b) || (a[0] < b[0] ? -1 : 1);
}
