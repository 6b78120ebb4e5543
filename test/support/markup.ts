/** Writes the markup of a page in one form: an element a line, indented, and without what differs from run to run. */
import { createHash } from 'node:crypto';
import { normalised } from './guards.ts';

export type Page = {
  /** The content of `<main>`; the whole text if there is no such element. */
  readonly main: string;
  /** The document around it, without what differs between the pages of a portal; null if there is none. */
  readonly frame: string | null;
  readonly title: string | null;
  /** The links that the frame marks as the current page. */
  readonly current: string | null;
};

const MAIN = /<main\b[\s\S]*<\/main>/;
const TITLE = /(<title>)([\s\S]*?)(<\/title>)/;
const CURRENT = /<a href="([^"]*)"([^>]*?) aria-current="page"/;

/** Splits a document into its content and its frame. A text of another type stays as it is. */
export function pageOf(text: string, type: string): Page {
  const [main] = MAIN.exec(text) ?? [];
  if (main === undefined || type !== 'text/html') {
    return { main: type === 'text/html' ? readable(text) : `${text}\n`, frame: null, title: null, current: null };
  }
  const around = text
    .replace(main, '<main></main>')
    .replace(TITLE, '$1{title}$3')
    .replace(/ aria-current="page"/g, '')
    .replace(/(<input type="hidden" name="back" value=")[^"]*/g, '$1{url}');
  const frame = readable(around);
  const title = TITLE.exec(text)?.[2] ?? null;
  return { main: readable(main), frame, title, current: CURRENT.exec(text)?.[1] ?? null };
}

/** Values that differ from run to run. Ids and secrets get numbers in the order of their first appearance, so links still work. */
export function withoutChance(text: string): string {
  const numbers = new Map<string, number>();
  const numbered = (kind: string) => (found: string) => {
    const number = numbers.get(found) ?? numbers.size + 1;
    numbers.set(found, number);
    return `{${kind}${number}}`;
  };
  return (
    normalised(text)
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, numbered('id'))
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, numbered('id'))
      .replaceAll(/(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{43}=/g, '{hash}')
      // Directly behind the path that it signs.
      .replaceAll(/(?<=\/unverified)[\w-]{43}/g, numbered('token'))
      .replaceAll(/\bspc_\w{8}…/g, 'spc_{start}…')
      .replaceAll(/…[0-9a-f]{12}\b/g, '…{end of id}')
      .replaceAll(/\b(name="seen" value=")[^"]+/g, '$1{entityTag}')
      .replaceAll(/\b[0-9a-f]{32}\b/g, numbered('key'))
      .replaceAll(/\b(name="formToken" value=")[^"]+/g, '$1{formToken}')
      .replaceAll(/\b(?:sps_|spt_|spc_|whsec_)[\w+/=-]{20,}/g, numbered('secret'))
      .replaceAll(/(?<![\w/+-])[\w-]{43}(?![\w-])/g, numbered('token'))
      .replaceAll(/(\/assets\/[\w.-]+?)[.-][0-9a-f]{8,}\./g, '$1.{hash}.')
      // The table of the chart has them too.
      .replaceAll(/\[(?:\d+|null)(?:,(?:\d+|null)){9,}\]/g, '[…]')
  );
}

const TOKEN = /<!--[\s\S]*?-->|<[!/]?[a-zA-Z](?:"[^"]*"|'[^']*'|[^'">])*>|[^<]+|</g;
const VOID = /^<(?:!doctype|area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b/i;
/** Their white space is shown. */
const VERBATIM = /^(?:pre|textarea)$/;
/** A space beside one of these is seen, and a browser drops it beside all others. */
const INLINE =
  /^<\/?(?:a|abbr|b|bdi|button|cite|code|data|em|i|input|kbd|label|mark|q|s|samp|select|small|span|strong|sub|sup|svg|time|u|var)\b/;

type Node = {
  /** A start tag or text. */
  readonly text: string;
  readonly children: Node[];
  /** Null for text and for elements without an end tag. */
  end: string | null;
};

/** Spaces around text that are seen are written as `␣`. */
function readable(markup: string): string {
  return `${treeOf(markup).flatMap(linesOf).join('\n')}\n`;
}

function linesOf({ text, children, end }: Node): string[] {
  const own = text.split('\n');
  if (end === null) return own;
  const [only] = children;
  const isShort = children.length <= 1 && (only === undefined || (only.end === null && !only.text.includes('\n')));
  if (isShort && !text.startsWith('<svg')) return [`${text}${only?.text ?? ''}${end}`];
  const inner = children.map(linesOf);
  if (text.startsWith('<svg')) return [`${text}{${hashOf(inner.flat().join(''))}}${end}`];
  return [...own, ...withoutRepeats(inner).map((line) => ` ${line}`), end];
}

const ALIKE_MIN = 5;

/** Many elements in a row that differ in numbers only, such as the rows of a chart's table, are written as the first and the last. */
function withoutRepeats(elements: readonly string[][]): string[] {
  const groups: string[][][] = [];
  let shape = '';
  for (const lines of elements) {
    const own = lines.join('').replaceAll(/\d+/g, '#');
    if (own === shape) groups.at(-1)?.push(lines);
    else groups.push([lines]);
    shape = own;
  }
  return groups.flatMap((group) => {
    if (group.length < ALIKE_MIN) return group.flat();
    const between = `<!-- ${group.length - 2} more that differ in numbers only -->`;
    return [...(group[0] ?? []), between, ...(group.at(-1) ?? [])];
  });
}

function treeOf(markup: string): Node[] {
  const found = markup.match(TOKEN) ?? [];
  const root: Node = { text: '', children: [], end: null };
  const open = [root];
  let verbatim: string | null = null;
  for (const [at, text] of found.entries()) {
    const parent = open.at(-1) ?? root;
    if (text.startsWith('</')) {
      if (text === `</${verbatim}>`) verbatim = null;
      if (open.length > 1) open.pop();
      parent.end = text;
    } else if (/^<[!a-zA-Z]/.test(text)) {
      const tag = oneLine(text);
      const node: Node = { text: tag, children: [], end: null };
      parent.children.push(node);
      if (VOID.test(tag) || tag.endsWith('/>') || tag.startsWith('<!')) continue;
      open.push(node);
      const name = /^<(\w+)/.exec(tag)?.[1] ?? '';
      if (VERBATIM.test(name)) verbatim = name;
    } else {
      const shown = verbatim === null ? spaced(text, found[at - 1], found[at + 1]) : cut(text);
      if (shown !== '') parent.children.push({ text: shown, children: [], end: null });
    }
  }
  return root.children;
}

function spaced(text: string, previous = '', next = ''): string {
  const shown = oneLine(text);
  if (shown === '') return '';
  const before = /^\s/.test(text) && INLINE.test(previous) ? '␣' : '';
  const after = /\s$/.test(text) && INLINE.test(next) ? '␣' : '';
  return `${before}${shown}${after}`;
}

/** The first lines, and a hash of all: code comes from files that have their own tests. */
function cut(text: string): string {
  const lines = text.split('\n').map((line) => `|${line}`);
  if (lines.length <= 2 * VERBATIM_LINES) return lines.join('\n');
  return [...lines.slice(0, VERBATIM_LINES), `|… ${lines.length - VERBATIM_LINES} more lines, ${hashOf(text)}`].join(
    '\n',
  );
}

const VERBATIM_LINES = 6;

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
