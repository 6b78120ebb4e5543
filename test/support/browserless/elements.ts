/** The elements of a page, read from its markup without a browser. */
import assert from 'node:assert/strict';

export type Element = {
  readonly tag: string;
  readonly attributes: Map<string, string>;
  readonly children: (Element | string)[];
  /** Null for the document. */
  readonly parent: Element | null;
};

const TOKEN =
  /<!--[\s\S]*?-->|<!doctype[^>]*>|<\/([a-z][\w-]*)\s*>|<([a-z][\w-]*)((?:\s+[^\s=>"'/]+(?:="[^"]*")?)*)\s*(\/?)>|[^<]+|</giy;
const ATTRIBUTE = /([^\s=]+)(?:="([^"]*)")?/g;
const VOID = /^(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/;
/** Their content is no markup. */
const TEXTUAL = /^(?:script|style|textarea|title)$/;

/** The document. Fails for an element that is not closed, which the portal has nowhere. */
export function elementsOf(markup: string): Element {
  const root: Element = { tag: '#document', attributes: new Map(), children: [], parent: null };
  let open = root;
  let at = 0;
  while (at < markup.length) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(markup);
    assert.ok(found, `no markup: ${markup.slice(at, at + 80)}`);
    const [text, closing, opening, rest = '', selfClosing] = found;
    at = TOKEN.lastIndex;
    if (closing !== undefined) {
      assert.equal(closing.toLowerCase(), open.tag, `what ${text} closes is not open`);
      open = open.parent ?? root;
    } else if (opening !== undefined) {
      const tag = opening.toLowerCase();
      const element: Element = { tag, attributes: attributesOf(rest), children: [], parent: open };
      open.children.push(element);
      if (VOID.test(tag) || selfClosing === '/') continue;
      if (!TEXTUAL.test(tag)) {
        open = element;
        continue;
      }
      const end = markup.toLowerCase().indexOf(`</${tag}>`, at);
      assert.ok(end >= 0, `${tag} is not closed`);
      const content = markup.slice(at, end);
      element.children.push(tag === 'textarea' ? plain(content).replace(/^\n/, '') : plain(content));
      at = end + tag.length + 3;
    } else if (!text.startsWith('<!')) {
      open.children.push(plain(text));
    }
  }
  assert.equal(open, root, `${open.tag} is not closed`);
  return root;
}

function attributesOf(text: string): Map<string, string> {
  return new Map(
    Array.from(text.matchAll(ATTRIBUTE), ([, name = '', value = '']) => [name.toLowerCase(), plain(value)]),
  );
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\u00a0' };

function plain(markup: string): string {
  return markup.replaceAll(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hexadecimal, decimal, name) => {
    if (hexadecimal !== undefined) return String.fromCodePoint(Number.parseInt(hexadecimal, 16));
    return decimal === undefined ? (ENTITIES[name] ?? whole) : String.fromCodePoint(Number(decimal));
  });
}

/** All elements inside, in the order of the document. */
export function within(element: Element): readonly Element[] {
  const known = inside.get(element);
  if (known !== undefined) return known;
  const found: Element[] = [];
  for (const child of element.children) {
    if (typeof child === 'string') continue;
    found.push(child);
    for (const inner of within(child)) found.push(inner);
  }
  inside.set(element, found);
  return found;
}

/** Elements stay where they are: only their texts and attributes change. */
const inside = new WeakMap<Element, readonly Element[]>();

/** The element and what surrounds it. */
export function around(element: Element): Element[] {
  return element.parent === null ? [element] : [element, ...around(element.parent)];
}

export function closest(element: Element, ...tags: readonly string[]): Element | null {
  return around(element).find(({ tag }) => tags.includes(tag)) ?? null;
}

/** Its text, of scripts and styles none. */
export function textOf(element: Element): string {
  if (element.tag === 'script' || element.tag === 'style') return '';
  return element.children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('');
}

export function normal(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** Problems of markup that would run in a browser, or load what the portal does not have. */
export function runningMarkup(document: Element): string[] {
  return within(document).flatMap(({ tag, attributes }) => {
    const handlers = [...attributes.keys()].filter((name) => name.startsWith('on'));
    const runs = tag === 'script' && !attributes.has('src');
    const leads = /^\s*javascript:/i.test(attributes.get('href') ?? '');
    const loads = tag === 'img' && attributes.get('src') === 'x';
    return runs || leads || loads || handlers.length > 0 ? [`markup of ${tag} runs: ${[...attributes].join(' ')}`] : [];
  });
}
