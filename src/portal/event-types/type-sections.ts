/** Sections about an event type for the developers of receivers: its sample in each format, its fields, its types and code. */

import type { EventType } from '../../domain/event.ts';
import { WEBHOOK_FORMATS } from '../../domain/webhook-format.ts';
import { exampleBody } from '../../events/catalogue.ts';
import { formattedMessage } from '../../events/catalogue-formats.ts';
import { typeDeclarations } from '../../events/typescript.ts';
import { type Html, html } from '../../http/html.ts';
import { RECEIVER_PACKAGE } from '../../kernel/assets.ts';
import { isObject } from '../../kernel/validation.ts';
import { filterPaths } from '../../webhooks/filter-paths.ts';
import { DOWNLOADS } from '../documentation/download-pages.ts';
import { hasReceiverPackage, programsFor } from '../endpoints/receiver-code.ts';
import { codePanels, programPanels } from '../parts/details.ts';
import { section } from '../parts/header.ts';
import { table } from '../parts/list.ts';
import { pageLinks } from '../parts/page-links.ts';
import { formatText } from '../webhooks/format-fields.ts';

type Panel = Parameters<typeof codePanels>[1][number];
type Sample = NonNullable<EventType['sample']>;

/**
 * For the page of an event type in a catalogue. `address`: of this service, if it is known. `verification` leads to the code for other
 * languages, and `trial` sends the sample.
 */
export function eventTypeSections(
  eventType: EventType,
  address: string | null,
  { verification, trial = null }: { readonly verification: Html; readonly trial?: Html | null },
): Html {
  return html`
    ${sampleSection(eventType, address)}
    ${fieldsSection(eventType)}
    ${trial}
    ${typesSection(eventType)}
    ${section({
      title: 'Receive it',
      id: 'receive',
      lead: html`
        For webhooks with the format Records.
        ${
          hasReceiverPackage()
            ? html`
              TypeScript and JavaScript need the package: <a href="${`${DOWNLOADS}/${RECEIVER_PACKAGE}`}" download>download
              it</a>, then <code>npm install ./${RECEIVER_PACKAGE}</code>.
            `
            : null
        }
        Python needs <a href="${`${DOWNLOADS}/receiver.py`}" download>receiver.py</a> beside it. ${verification} has the
        programs in eight languages, and the environment that they need.
      `,
      content: programPanels(`Receive ${eventType.name}`, programsFor(eventType)),
    })}
  `;
}

/** Leads to the parts of the operator’s page of a type, which is long: in their order. */
export function sectionLinks(
  { builtIn, dataSchema, sample }: EventType,
  { isTested, isManaged }: { readonly isTested: boolean; readonly isManaged: boolean },
): Html {
  const parts: readonly (readonly [id: string, label: string])[] = [
    ['use', 'Use'],
    ['sample', 'Sample'],
    ['latest', 'Latest event'],
    ...(dataSchema === null && sample === null ? [] : [['fields', 'Fields of its data'] as const]),
    ...(isTested ? [['test-event', 'Send it as a test event'] as const] : []),
    ...(builtIn ? [] : [['publish', 'Publish it'] as const]),
    ['types', 'Types for programs'],
    ...(builtIn ? [] : [['history', 'History'] as const]),
    ...(isManaged ? [['delete', 'Delete'] as const] : []),
  ];
  return pageLinks(parts.map(([id, label]) => ({ id, label })));
}

/**
 * The sample as data, and as the request of a webhook in each format has it. `address`: the source of CloudEvents. `remedy` is for a type
 * without one.
 */
export function sampleSection(eventType: EventType, address: string | null, remedy: Html | null = null): Html {
  const { name, sample, encryptionRequired } = eventType;
  if (sample === null) {
    return section({
      title: 'Sample',
      id: 'sample',
      content: html`<p class="quiet">There is no sample. ${remedy}</p>`,
    });
  }
  return section({
    title: 'Sample',
    id: 'sample',
    lead: encryptionRequired
      ? 'The data, and the body that arrives once it is decrypted.'
      : 'The data, and what arrives in each format of a webhook.',
    content: codePanels(`Sample of ${name}`, samplePanels(eventType, sample, address)),
  });
}

/** Not every format can be encrypted. */
function samplePanels(
  { name, source, encryptionRequired }: EventType,
  sample: Sample,
  address: string | null,
): Panel[] {
  const formats = encryptionRequired ? (['records'] as const) : WEBHOOK_FORMATS;
  return [
    { label: 'Data', code: json(sample) },
    ...formats.map((format) => {
      const settings = { batch: false, thin: false };
      const label = formatText({ format, ...settings });
      if (format === 'records') return { label, code: json(exampleBody(name, sample)) };
      const { headers, payload } = formattedMessage({ format, ...settings }, name, {}).example(
        sample,
        source ?? address ?? undefined,
      );
      const lines = Object.entries(headers).map(([header, value]) => `${header}: ${String(value)}\n`);
      return { label, code: `${lines.join('')}${lines.length === 0 ? '' : '\n'}${json(payload)}` };
    }),
  ];
}

/** The data as types for programs. */
export function typesSection(eventType: EventType): Html {
  const { name, dataSchema } = eventType;
  return section({
    title: 'Types for programs',
    id: 'types',
    content: programPanels(`Type of ${name}`, [
      { label: 'TypeScript', code: typeDeclarations(eventType).trim() },
      ...(dataSchema === null ? [] : [{ label: 'JSON Schema', code: json(dataSchema) }]),
    ]),
  });
}

/** Of the schema and the sample; null if neither has any. */
export function fieldsSection({ name, dataSchema, sample }: EventType): Html | null {
  const found = filterPaths([{ name, dataSchema, sample }]).filter(({ path }) => path.startsWith('data.'));
  const order = pathsOf(sample, 'data');
  const place = (path: string): number => (order.includes(path) ? order.indexOf(path) : order.length);
  const fields = found.toSorted((a, b) => place(a.path) - place(b.path));
  const isDescribed = fields.some(({ description }) => description !== null);
  if (fields.length === 0) return null;
  return section({
    title: 'Fields of its data',
    id: 'fields',
    lead:
      dataSchema === null
        ? 'As the sample has them. There is no schema, so other events of this type may have other fields.'
        : 'Every event is checked against the JSON Schema before it is published, so these hold for all of them.',
    isPlain: true,
    content: html`
      <div class="type-fields">
        ${table({
          caption: `Fields of ${name}`,
          columns: [
            { label: 'Field', kind: 'main' },
            { label: 'Type', phone: 'named' },
            { label: 'Example', phone: 'plain' },
            ...(isDescribed ? [{ label: 'Meaning', phone: 'plain' } as const] : []),
          ],
          rows: fields.map(({ path, types, description, values }) => [
            html`
              <code>${shownPath(path)}</code>${' '}
              ${isRequired(dataSchema, path.split('.').slice(1)) ? html`<span class="optional">required</span>` : null}
            `,
            types.length === 0 ? html`<span class="quiet">any</span>` : types.join(' or '),
            values.length === 0
              ? 0
              : html`${values.slice(0, EXAMPLES_SHOWN).map((value) => html`<code>${JSON.stringify(value)}</code> `)}`,
            ...(isDescribed ? [description ?? html`<span class="quiet">–</span>`] : []),
          ]),
        })}
      </div>
    `,
  });
}

/** The paths of a sample in its order; of a list, those of the first item. */
function pathsOf(value: unknown, path: string): string[] {
  const entries = Array.isArray(value) ? [['0', value[0]] as const] : isObject(value) ? Object.entries(value) : [];
  return [path, ...entries.flatMap(([name, one]) => pathsOf(one, `${path}.${name}`))];
}

const EXAMPLES_SHOWN = 3;

/** `data.items.0.price` is the price of each item. */
function shownPath(path: string): string {
  return path.slice('data.'.length).replaceAll(/\.0(?=\.|$)/g, '[]');
}

/** Whether the schema says so in the place of the field; a reference is not followed. */
function isRequired(schema: unknown, [name, ...rest]: readonly string[]): boolean {
  if (!isObject(schema) || name === undefined) return false;
  const { required, properties } = schema;
  if (!Array.isArray(required) || !required.includes(name)) return false;
  return rest.length === 0 || isRequired(isObject(properties) ? properties[name] : undefined, rest);
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
