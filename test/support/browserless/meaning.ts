/** The meaning of elements for people: their roles, names and texts, by the rules that Playwright's locators have too. */
import { around, closest, type Element, normal, textOf, within } from './elements.ts';
import { byId, labelsOf, typedIn, typeOf } from './fields.ts';

export type Wanted = string | RegExp;

/** Whether a text contains `wanted`, in upper or lower case; with `isExact`, whether it is `wanted`. */
export function fits(text: string, wanted: Wanted, isExact = false): boolean {
  const shown = normal(text);
  if (typeof wanted !== 'string') return wanted.test(shown);
  return isExact ? shown === normal(wanted) : shown.toLowerCase().includes(normal(wanted).toLowerCase());
}

/** Whether people see it, as far as the markup tells: style sheets are not read. */
export function isShown(element: Element): boolean {
  if (element.tag === 'input' && typeOf(element) === 'hidden') return false;
  return around(element).every((one) => {
    const { tag, attributes, parent } = one;
    if (attributes.has('hidden') || /^(?:head|script|style|template|datalist)$/.test(tag)) return false;
    if (tag === 'dialog' && !attributes.has('open')) return false;
    const isFolded = parent?.tag === 'details' && !parent.attributes.has('open');
    return !isFolded || (tag === 'summary' && parent.children.find((child) => typeof child !== 'string') === one);
  });
}

const ROLES: Readonly<Record<string, string>> = {
  article: 'article',
  aside: 'complementary',
  button: 'button',
  details: 'group',
  dialog: 'dialog',
  fieldset: 'group',
  h1: 'heading',
  h2: 'heading',
  h3: 'heading',
  h4: 'heading',
  img: 'img',
  li: 'listitem',
  main: 'main',
  nav: 'navigation',
  ol: 'list',
  option: 'option',
  select: 'combobox',
  table: 'table',
  td: 'cell',
  textarea: 'textbox',
  tr: 'row',
  ul: 'list',
};
const INPUTS: Readonly<Record<string, string>> = {
  button: 'button',
  checkbox: 'checkbox',
  email: 'textbox',
  number: 'spinbutton',
  radio: 'radio',
  search: 'searchbox',
  submit: 'button',
  text: 'textbox',
  url: 'textbox',
};

export function roleOf(element: Element): string | null {
  const { tag, attributes } = element;
  const role = attributes.get('role');
  if (role !== undefined) return role;
  if (tag === 'a') return attributes.has('href') ? 'link' : null;
  if (tag === 'section') return nameOf(element) === '' ? null : 'region';
  if (tag === 'th') return attributes.get('scope') === 'row' ? 'rowheader' : 'columnheader';
  if (tag !== 'input') return ROLES[tag] ?? null;
  const type = typeOf(element);
  return attributes.has('list') && /^(?:text|search|url|email)$/.test(type) ? 'combobox' : (INPUTS[type] ?? null);
}

/** These are named by what is in them. */
const NAMED_BY_CONTENT = /^(?:button|cell|checkbox|columnheader|heading|link|option|radio|row|rowheader|tab)$/;

const NAMED_BY_PART: Readonly<Record<string, string>> = { fieldset: 'legend', table: 'caption' };

/** The name that screen readers say. */
export function nameOf(element: Element): string {
  const { tag, attributes } = element;
  const ids = attributes.get('aria-labelledby')?.split(/\s+/) ?? [];
  if (ids.length > 0) {
    return normal(ids.map((id) => contentOf(byId(element, id))).join(' '));
  }
  const label = attributes.get('aria-label');
  if (label !== undefined && label !== '') return normal(label);
  const labels = labelsOf(element);
  if (labels.length > 0) return normal(labels.map(contentOf).join(' '));
  if (tag === 'input') return normal(/^(?:submit|button)$/.test(typeOf(element)) ? typedIn(element) : titleOf(element));
  if (tag === 'img') return normal(attributes.get('alt') ?? '');
  const part = NAMED_BY_PART[tag];
  if (part !== undefined) return normal(contentOf(within(element).find((one) => one.tag === part) ?? null));
  if (tag === 'section') return titleOf(element);
  const own = NAMED_BY_CONTENT.test(roleOf(element) ?? '') ? normal(contentOf(element)) : '';
  return own === '' ? titleOf(element) : own;
}

function titleOf({ attributes }: Element): string {
  return attributes.get('title') ?? attributes.get('placeholder') ?? '';
}

const INLINE =
  /^(?:a|abbr|b|bdi|button|cite|code|em|i|kbd|label|mark|q|s|small|strong|sub|sup|svg|time|u|use|var|wbr)$/;

/** The text that is read for an element, of which each block is apart. */
function contentOf(element: Element | null): string {
  if (element === null || element.attributes.get('aria-hidden') === 'true') return '';
  const { tag, attributes } = element;
  const label = attributes.get('aria-label') ?? (tag === 'img' ? attributes.get('alt') : undefined);
  if (label !== undefined) return label;
  if (/^(?:input|select|textarea)$/.test(tag)) return '';
  const isRead = (child: Element): boolean => isShown(child) || !isShown(element);
  const texts = element.children.map((child) =>
    typeof child === 'string' ? child : isRead(child) ? contentOf(child) : '',
  );
  return INLINE.test(tag) ? texts.join('') : ` ${texts.join('')} `;
}

/** The texts that label an element. */
export function labelTexts(element: Element): string[] {
  const { attributes } = element;
  const ids = attributes.get('aria-labelledby')?.split(/\s+/) ?? [];
  if (ids.length > 0) return ids.flatMap((id) => byId(element, id) ?? []).map(textOf);
  const label = attributes.get('aria-label');
  return label !== undefined && label !== '' ? [label] : labelsOf(element).map(textOf);
}

/** Whether this is the innermost element of the page with the text. */
export function isInnermost(element: Element, wanted: Wanted, isExact: boolean): boolean {
  if (/^(?:#document|head|script|style)$/.test(element.tag) || closest(element, 'head') !== null) return false;
  const test = isExact && typeof wanted === 'string' ? hasPiece : hasText;
  return test(element, wanted) && !element.children.some((child) => typeof child !== 'string' && test(child, wanted));
}

function hasText(element: Element, wanted: Wanted): boolean {
  return fits(textOf(element), wanted);
}

/** Whether a piece of its text, or of an element in it, is exactly that. */
function hasPiece(element: Element, wanted: Wanted): boolean {
  const own = element.children.some((child) => typeof child === 'string' && fits(child, wanted, true));
  return own || element.children.some((child) => typeof child !== 'string' && hasPiece(child, wanted));
}

const BLOCKS = [
  'address article aside blockquote br caption dd details div dl dt fieldset figure footer form h1 h2 h3 h4 header hr legend',
  'li main nav ol option p pre section summary table tbody thead tr ul',
];
const BLOCK: ReadonlySet<string> = new Set(BLOCKS.flatMap((tags) => tags.split(' ')));

/** The text as it is shown: a line for each block, and a tabulator between cells. */
export function shownText(element: Element): string {
  if (element.tag === 'pre' || closest(element, 'pre') !== null) return textOf(element);
  return lines(element)
    .replaceAll(/[ \t\r\f]*\n\s*/g, '\n')
    .replaceAll(/ +/g, ' ')
    .trim();
}

function lines(element: Element): string {
  const { tag } = element;
  if (tag === 'textarea' || tag === 'select' || tag === 'input' || !isShown(element)) return '';
  if (tag === 'br') return '\n';
  if (tag === 'pre') return `\n${textOf(element)}\n`;
  const text = element.children
    .map((child, at) => {
      if (typeof child === 'string') return child.replaceAll(/\s+/g, ' ');
      const before = element.children[at - 1];
      // Nothing is between them in the markup, so the style sheet sets them apart.
      return (typeof before === 'object' && !/^(?:td|th|wbr)$/.test(before.tag) ? '\n' : '') + lines(child);
    })
    .join('');
  if (tag === 'td' || tag === 'th') return `${text}\t`;
  return BLOCK.has(tag) ? `\n${text}\n` : text;
}
