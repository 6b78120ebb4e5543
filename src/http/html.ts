/** A template tag for HTML. It escapes all values except markup that it created itself. */

/** Markup that needs no escaping. Only `html` creates it. */
export type Html = { readonly markup: string };

/** null inserts nothing; a list inserts its items. */
export type HtmlValue = string | number | Html | null | readonly HtmlValue[];

/** The template must have attribute values in double quotes. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const markup = strings.reduce((before, text, at) => before + toMarkup(values[at - 1] ?? null) + text);
  return storedHtml(markup);
}

/** Markup of `html` that was stored. Only for markup that nobody else can have changed, for example because it was sealed. */
export function storedHtml(markup: string): Html {
  const made: Html = Object.freeze({ markup });
  templates.add(made);
  return made;
}

/** Attributes of an element, each after a space. true inserts the name only; null, undefined and false insert nothing. */
export function attributes(values: Readonly<Record<string, string | number | boolean | null | undefined>>): Html {
  const made = Object.entries(values).map(([name, value]) => {
    if (value === null || value === undefined || value === false) return null;
    return value === true ? html` ${name}` : html` ${name}="${value}"`;
  });
  return html`${made}`;
}

/** All created markup, so that an object of the same shape, such as a parsed body, is not accepted. */
const templates = new WeakSet<object>();

function toMarkup(value: HtmlValue): string {
  if (value === null) return '';
  if (typeof value === 'string' || typeof value === 'number') return escaped(String(value));
  if (isHtml(value)) return value.markup;
  if (Array.isArray(value)) return value.map(toMarkup).join('');
  throw new TypeError('only text and results of html can be inserted into a page');
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
