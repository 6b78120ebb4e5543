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

/** The question of a form. `hasOthers`: also for every event, and for types that do not exist yet. */
type Question = { readonly title: string; readonly lead: string | null; readonly hasOthers: boolean };
/** The summary of the form says from when on they apply. */
const OF_WEBHOOK: Question = { title: 'Which events?', lead: null, hasOthers: true };

/** Known patterns are check boxes. Others are typed in a text field. */
export function eventsField(eventTypes: readonly EventType[], question: Question = OF_WEBHOOK): FormField {
  const offered = new Set(['*', ...eventTypes.flatMap(({ name }) => [name, `${categoryOf(name)}.*`])]);
  return {
    title: 'Events',
    draw: (state) => eventsStep(state, eventTypes, question),
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
function eventsStep(form: FormState, eventTypes: readonly EventType[], { title, lead, hasOthers }: Question): Html {
  const box = boxesOf(form);
  const problem = form.problem(NAME);
  const described = attributes({
    id: idOf(NAME),
    'aria-describedby': problem === null ? null : `${idOf(NAME)}-problem`,
  });
  const categories = [...byCategory(eventTypes)].sort(ownFirst);
  const hasOwn = eventTypes.some(({ builtIn }) => !builtIn);
  return fieldGroup(title, lead, [
    html`
      <fieldset class="field field-wide" data-events${described}>
        <legend class="visually-hidden">Events</legend>
        ${problemLine(NAME, 'Events', problem)}
        ${FILTER}
        <div class="categories">
          ${categories.map(([category, types], at) => [
            groupHeading(types, categories[at - 1]?.[1]),
            categoryBoxes(form, category, types, box, hasOwn),
          ])}
          ${hasOthers ? otherEvents(form, box('*', ALL)) : null}
        </div>
      </fieldset>
    `,
  ]);
}

/** Few need them: folded unless they are chosen. */
function otherEvents(form: FormState, all: Html): Html {
  const isChosen = form.value(MORE) !== '' || form.values(NAME).includes('*');
  return html`
    <details class="category"${attributes({ open: isChosen })}>
      <summary>Every event, or a pattern</summary>
      ${all}
      <div class="category-types">
        ${textField(form, {
          name: MORE,
          label: 'Patterns',
          isCode: true,
          placeholder: 'stock.counted returns.*',
          hint: 'All types that begin the same, such as stock.*, or types that do not exist yet; separated by spaces.',
        })}
      </div>
    </details>
  `;
}

const ALL =
  'Every event of every type, also of types added later. Needs a key, because events that must be encrypted may be among them.';

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

/** The group of a category in the event catalogue, above the first one of it. */
function groupHeading(types: readonly EventType[], before: readonly EventType[] | undefined): Html | null {
  const group = groupOf(types);
  return group === null || (before !== undefined && groupOf(before) === group) ? null : html`<h3>${group}</h3>`;
}

/** Null for the built-in types, which have titles of their own, and if the types have several. */
function groupOf(types: readonly EventType[]): string | null {
  const [group = null, ...others] = new Set(types.map((type) => (type.builtIn ? null : type.group)));
  return others.length > 0 ? null : group;
}

/** Built-in categories are folded if there are others and none of theirs is chosen. */
function categoryBoxes(
  form: FormState,
  category: string,
  types: readonly EventType[],
  box: Box,
  hasOwn: boolean,
): Html {
  const all = box(`${category}.*`, `All ${category} events, including types added later.`);
  const each = types.map(({ name, description, encryptionRequired }) =>
    box(name, `${description}${encryptionRequired ? ' Encrypted only.' : ''}`.trim() || null),
  );
  const boxes = html`${all}<div class="category-types">${each}</div>`;
  const isStatus = `${category}.` === STATUS_CATEGORY;
  if (!isStatus && (!hasOwn || !types.every(({ builtIn }) => builtIn)))
    return html`<div class="category">${boxes}</div>`;
  const isChosen = form.values(NAME).some((pattern) => pattern.startsWith(`${category}.`));
  return html`
    <details class="category"${attributes({ open: isChosen })}>
      <summary>${isStatus ? 'Events about webhooks themselves, for monitoring' : `Built-in ${category} events`}</summary>
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

/** Custom categories first, by their groups, then the built-in ones. */
function ownFirst(a: readonly [string, readonly EventType[]], b: readonly [string, readonly EventType[]]): number {
  const builtIn = ([, types]: readonly [string, readonly EventType[]]): number =>
    Number(types.every((type) => type.builtIn));
  const group = ([, types]: readonly [string, readonly EventType[]]): string => groupOf(types) ?? '';
  return builtIn(a) - builtIn(b) || group(a).localeCompare(group(b), 'en') || (a[0] < b[0] ? -1 : 1);
}
