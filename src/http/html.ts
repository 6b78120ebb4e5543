/** HTML from a template that escapes: what is put into it is text, unless a template made it. */

/** Markup that may be put into a page as it is. Only `html` makes it. */
export type Html = { readonly markup: string };

/** null puts nothing in; a list puts in each of its items. */
export type HtmlValue = string | number | Html | null | readonly HtmlValue[];

/** Attribute values stand in double quotes in the template. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const markup = strings.reduce((before, text, at) => before + toMarkup(values[at - 1] ?? null) + text);
  const made: Html = Object.freeze({ markup });
  templates.add(made);
  return made;
}

/** Attributes of an element, each after a space: true is the name alone; null, undefined and false are left out. */
export function attributes(values: Readonly<Record<string, string | number | boolean | null | undefined>>): Html {
  const made = Object.entries(values).map(([name, value]) => {
    if (value === null || value === undefined || value === false) return null;
    return value === true ? html` ${name}` : html` ${name}="${value}"`;
  });
  return html`${made}`;
}

/** What was made here, told from anything that merely looks like it, such as a parsed body. */
const templates = new WeakSet<object>();

function toMarkup(value: HtmlValue): string {
  if (value === null) return '';
  if (typeof value === 'string' || typeof value === 'number') return escaped(String(value));
  if (isHtml(value)) return value.markup;
  if (Array.isArray(value)) return value.map(toMarkup).join('');
  throw new TypeError('only text and what html made can be put into a page');
}

function isHtml(value: Html | readonly HtmlValue[]): value is Html {
  return templates.has(value);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
