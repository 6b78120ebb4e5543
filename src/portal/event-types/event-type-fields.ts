/** The fields of the form of an event type. */

import type { EventType } from '../../domain/event.ts';
import { SEARCH_PATHS_MAX } from '../../domain/search-terms.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { type FieldTable, lines, text, tick } from '../record/field-table.ts';
import { jsonObject } from '../record/json-field.ts';
import type { FormLayout } from '../record/record-pages.ts';

export function eventTypeFields(before: EventType | null): FieldTable {
  return {
    ...(before === null && {
      name: text({
        label: 'Name',
        isRequired: true,
        isCode: true,
        placeholder: 'order.created',
        hint:
          'Two words in lower case with a dot between them. A webhook can get all that have the same first word. You ' +
          'cannot change it later.',
      }),
    }),
    description: text({ label: 'Description', hint: 'One sentence that describes the event.' }),
    encryptionRequired: tick({
      label: 'Require encryption',
      title: 'Encryption',
      hint: 'For data that only the customer may read. Webhooks that receive it need a key. Employee types always require it.',
    }),
    group: text({ label: 'Group', placeholder: 'Orders', hint: 'The heading under which the catalogue lists it.' }),
    source: text({ label: 'CloudEvents source', isCode: true, hint: 'A URI. Default: the public address.' }),
    deprecated: tick({
      label: 'Deprecated',
      title: 'Use',
      hint: 'Tells receivers not to subscribe to it any more. Events of this type are still published and delivered.',
    }),
    public: tick(
      {
        label: 'Internal',
        title: 'Visibility',
        hint: 'The event catalogue shows it only to callers with a token, and no webhook of a customer gets it. Other types are public.',
      },
      false,
      true,
    ),
    searchPaths: lines(
      {
        label: 'Found by',
        isCode: true,
        rows: 3,
        placeholder: 'data.orderId\ndata.customer.email',
        hint: `At most ${SEARCH_PATHS_MAX} paths, one on each line. Not for types whose events must be encrypted.`,
      },
      {
        read: (sent, name) => (sent.get(name) ?? '').split(/\s+/).filter((path) => path !== ''),
        fill: (value, name) => ({ [name]: ((value ?? []) as readonly string[]).join('\n') }),
      },
    ),
    sample: jsonObject({
      label: 'Sample of its data',
      title: 'Sample',
      isCode: true,
      rows: rowsFor(before?.sample, 5),
      placeholder: '{"orderId": 17}',
      takesFile: '.json',
      hint: 'The data of an example, as receivers get it. It must satisfy the JSON Schema.',
    }),
    dataSchema: jsonObject({
      label: 'JSON Schema of its data',
      title: 'JSON Schema',
      isCode: true,
      rows: rowsFor(before?.dataSchema, 8),
      placeholder: '{"type": "object", "required": ["orderId"], "properties": {"orderId": {"type": "integer"}}}',
      takesFile: '.json',
      hint: 'Version 2020-12, or draft-07 if $schema says so. Publishing an event with other data is refused, with the field named.',
    }),
  };
}

const ROWS_MAX = 24;

/** Enough for the whole text, if it is not long. */
function rowsFor(value: unknown, min: number): number {
  const lines = value == null ? 0 : JSON.stringify(value, null, 2).split('\n').length;
  return Math.min(Math.max(lines, min), ROWS_MAX);
}

const SELDOM = ['source', 'deprecated'] as const;

export function eventTypeLayout({ group, more, isSet }: FormLayout<EventType, null>): Html {
  return html`
    ${group('Event type', null, 'name', 'description', 'group')}
    ${group('Its data', 'A sample and a JSON Schema. Receivers see both in the event catalogue.', 'sample', 'dataSchema')}
    ${group('Who gets it', null, 'encryptionRequired', 'public')}
    ${group('Find its events', 'By an order number or a name in their data: in Deliveries, and by Ctrl K.', 'searchPaths')}
    <details class="advanced"${attributes({ open: isSet(...SELDOM) })}>
      <summary>Advanced <span class="hint">The defaults suit most event types.</span></summary>
      ${more('CloudEvents source', 'source')}
      ${more('Deprecate', 'deprecated')}
    </details>
  `;
}
