/** The fields of bodies and replies as tables. Each schema has one table on the page, to which all others link. */
import { type ApiDocument, membersOf, phraseOf, refName, type Schema } from '../../http/api-document.ts';
import { type Html, html } from '../../http/html.ts';
import { countOf } from '../parts/text.ts';

export type SchemaFields = {
  /** The tables of a schema and of the schemas to which it refers, folded. Null if it has none, or if all are on the page already. */
  place(schema: Schema): Html | null;
  /** A phrase with links to the tables. */
  phrase(schema: Schema): Html;
};

export function createSchemaFields({ components }: Pick<ApiDocument, 'components'>): SchemaFields {
  const placed = new Set<string>();
  const named = (name: string): Schema => components.schemas[name] ?? {};
  /** A patch has the fields of the resource that it changes. */
  const inputOf = (name: string): string[] | null => {
    const input = name.replace(/Patch$/, 'Input');
    return input !== name && input in components.schemas ? [input] : null;
  };
  const place = (schema: Schema): Html | null => {
    const made: Html[] = [];
    const waiting = refsIn(schema);
    if (waiting.length === 0 && membersOf(schema).length > 0) made.push(fold(null, schema));
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      if (placed.has(name)) continue;
      placed.add(name);
      made.push(inputOf(name) === null ? fold(name, named(name)) : patchText(name));
      waiting.push(...(inputOf(name) ?? refsIn(named(name))));
    }
    return made.length === 0 ? null : html`${made}`;
  };
  return { place, phrase: (schema) => inline(phraseOf(schema)) };
}

/** The names of the schemas that a schema refers to. */
function refsIn(schema: Schema): string[] {
  const refs = JSON.stringify(schema).matchAll(/"\$ref":"([^"]+)"/g);
  return [...new Set(Array.from(refs, ([, ref = '']) => refName(ref)))];
}

function patchText(name: string): Html {
  const input = name.replace(/Patch$/, 'Input');
  return html`
    <p id="${anchorOf(name)}">
      Any of the <a href="#${anchorOf(input)}">fields of ${input}</a>. The others keep their value, and null restores the default.
    </p>
  `;
}

/** The anchor is within, so that a link to it unfolds the table. */
function fold(name: string | null, schema: Schema): Html {
  const members = membersOf(schema);
  const title = html`Fields${name === null ? null : html` of <code>${name}</code>`}`;
  const description = schema.description === undefined ? null : html`<p>${inline(schema.description)}</p>`;
  const fields = members.map(({ path, schema: member, isOptional }) => ({
    name: path,
    type: html`${inline(phraseOf(member))}${isOptional ? ', optional' : null}`,
    meaning: member.description ?? '',
  }));
  return html`
    <details class="api-fold">
      <summary>${title} <span class="optional">${countOf(members.length, 'field')}</span></summary>
      <div${name === null ? null : html` id="${anchorOf(name)}"`}>
        ${description}
        ${fields.length === 0 ? html`<p>${inline(phraseOf(schema))}</p>` : fieldList(fields)}
      </div>
    </details>
  `;
}

type Field = { readonly name: string; readonly type: Html; readonly meaning: string };

/** Each with its type on the line of its name. A column for types would leave little room for their meaning. */
export function fieldList(fields: readonly Field[]): Html {
  const made = fields.map(
    ({ name, type, meaning }) => html`
      <div>
        <dt><code>${name}</code></dt>
        <dd class="api-type">${type}</dd>
        ${meaning === '' ? null : html`<dd>${inline(meaning)}</dd>`}
      </div>
    `,
  );
  return html`<dl class="api-fields">${made}</dl>`;
}

function anchorOf(name: string): string {
  return `fields-${name.toLowerCase()}`;
}

const MARKED = /`([^`]+)`|\[(\w+)\]\(#\w+\)/g;

/** A text with code and with links to schemas, in Markdown. */
export function inline(text: string): Html {
  const parts: Html[] = [];
  let from = 0;
  for (const { index, 0: whole, 1: code, 2: name } of text.matchAll(MARKED)) {
    parts.push(html`${text.slice(from, index)}`);
    parts.push(name === undefined ? html`<code>${code ?? ''}</code>` : html`<a href="#${anchorOf(name)}">${name}</a>`);
    from = index + whole.length;
  }
  return html`${parts}${text.slice(from)}`;
}
