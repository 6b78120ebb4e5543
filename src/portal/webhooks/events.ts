/** Choosing the events of a webhook, and the rule that some events must be encrypted. */

import { type EventType, encryptionNeed, STATUS_CATEGORY } from '../../events/event.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import type { FormField } from '../field-table.ts';
import { idOf, problemLine, textField } from '../parts/fields.ts';
import { fieldGroup } from '../parts/form.ts';
import type { FormState } from '../parts/form-state.ts';
import { notice } from '../parts/notice.ts';

const NAME = 'eventTypes';
const MORE = 'morePatterns';

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

/** Check boxes by category, the whole category above its types. Patterns without a box are in the text field below. */
function eventsStep(form: FormState, eventTypes: readonly EventType[]): Html {
  const chosen = new Set(form.values(NAME));
  let boxes = 0;
  const box = (value: string, label: string | Html, hint: string | null): Html => {
    boxes += 1;
    const id = `${idOf(NAME)}-${boxes}`;
    const input = attributes({
      ...{ id, name: NAME, type: 'checkbox', value, checked: chosen.has(value) },
      'aria-describedby': hint === null ? null : `${id}-hint`,
    });
    return html`<div class="choice"><input${input}><div><label for="${id}">${label}</label>${hint === null ? null : html`<p class="hint" id="${id}-hint">${hint}</p>`}</div></div>`;
  };
  const categories = [...byCategory(eventTypes)].sort(ownFirst);
  const groups = categories.map(([category, types]) => {
    const all = box(
      `${category}.*`,
      html`<code>${category}.*</code>`,
      `All of ${category}, with those that are still to come.`,
    );
    const each = types.map(({ name, description, encryptionRequired }) =>
      box(
        name,
        html`<code>${name}</code>`,
        `${description}${encryptionRequired ? ' Encrypted only.' : ''}`.trim() || null,
      ),
    );
    const boxes = html`${all}<div class="category-types">${each}</div>`;
    if (`${category}.` !== STATUS_CATEGORY) return html`<div class="category">${boxes}</div>`;
    const isChosen = [...chosen].some((pattern) => pattern.startsWith(STATUS_CATEGORY));
    return html`<details class="category"${attributes({ open: isChosen })}><summary>What happens to webhooks themselves, for a watcher of yours</summary>${boxes}</details>`;
  });
  const problem = form.problem(NAME);
  const described = attributes({
    id: idOf(NAME),
    'aria-describedby': problem === null ? null : `${idOf(NAME)}-problem`,
  });
  return fieldGroup(
    '2. Which events',
    'It gets what is published from its creation on. Nothing has to be started for that: what comes before the start waits.',
    [
      html`<fieldset class="field field-wide"${described}><legend class="visually-hidden">Events</legend>${problemLine(NAME, 'Events', problem)}<div class="categories">${groups}<div class="category">${box('*', html`<code>*</code>`, 'Everything that happens, with types that are still to come. Needs a key, for employee events are among it.')}</div></div></fieldset>`,
      textField(form, {
        name: MORE,
        label: 'Others',
        isCode: true,
        placeholder: 'stock.* invoice.*',
        hint: 'Categories that have no type yet, separated by spaces.',
      }),
    ],
  );
}

function byCategory(eventTypes: readonly EventType[]): ReadonlyMap<string, readonly EventType[]> {
  return Map.groupBy(eventTypes, ({ name }) => categoryOf(name));
}

/** Custom categories first, then the built-in ones. */
function ownFirst(a: readonly [string, readonly EventType[]], b: readonly [string, readonly EventType[]]): number {
  const builtIn = ([, types]: readonly [string, readonly EventType[]]): number =>
    Number(types.every((type) => type.builtIn));
  return builtIn(a) - builtIn(b) || (a[0] < b[0] ? -1 : 1);
}

/** The script reloads the rule after each change. The server checks it in any case. */
export function ruleBox(rule: Html): Html {
  const refresh = attributes({
    'hx-get': '/webhooks/new/rule',
    'hx-trigger': "change from:'closest form'",
    'hx-include': `[name="${NAME}"], [name="${MORE}"], [name="encryptionKeyName"]`,
    'hx-sync': 'this:replace',
  });
  return html`<div aria-live="polite"${refresh}>${rule}</div>`;
}

/** Whether the chosen events need a key. */
export function encryptionRule(patterns: readonly string[], hasKey: boolean, eventTypes: readonly EventType[]): Html {
  const need = encryptionNeed(patterns, eventTypes);
  if (need === null) {
    return html`<p class="hint">Employee events, and event types marked “encrypted only”, need a key. So does <code>*</code>.</p>`;
  }
  return hasKey
    ? notice({ tone: 'positive', text: `${capital(need)} must be encrypted, and they will be.` })
    : notice({ tone: 'caution', text: `${capital(need)} must be encrypted: choose a key.` });
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
