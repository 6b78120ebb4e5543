/**
 * Checks that an SVG picture can neither run nor load anything, by a list of allowed parts (contract §8.16): elements, style functions and
 * namespaces that are not listed here are refused, whatever a future browser makes of them. Pure.
 */

/** Shapes, text, gradients, filters. Not `a`, `script`, `foreignObject`, animations, `feImage`, or media. */
const ELEMENTS: ReadonlySet<string> = new Set(
  `svg g defs symbol use switch title desc metadata style path rect circle ellipse line polyline polygon image text tspan textPath
  linearGradient radialGradient stop pattern clipPath mask marker view filter feBlend feColorMatrix feComponentTransfer feComposite
  feConvolveMatrix feDiffuseLighting feDisplacementMap feDistantLight feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur
  feMerge feMergeNode feMorphology feOffset fePointLight feSpecularLighting feSpotLight feTile feTurbulence`.split(
    /\s+/,
  ),
);

const SVG = 'http://www.w3.org/2000/svg';
const XLINK = 'http://www.w3.org/1999/xlink';
/** Elements and attributes that editors keep for themselves. Browsers know no element or attribute of these. */
const NOTES: ReadonlySet<string> = new Set([
  'http://www.inkscape.org/namespaces/inkscape',
  'http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd',
  'http://www.w3.org/1999/02/22-rdf-syntax-ns#',
  'http://creativecommons.org/ns#',
  'http://web.resource.org/cc/',
  'http://purl.org/dc/elements/1.1/',
  'http://www.bohemiancoding.com/sketch/ns',
  'http://www.serif.com/',
  'http://vectornator.io',
]);

/** The functions of styles. `url` leads only to a part of the picture. */
const FUNCTIONS: ReadonlySet<string> = new Set(
  `url rgb rgba hsl hsla hwb lab lch oklab oklch color color-mix light-dark calc min max clamp var matrix translate translatex translatey
  scale scalex scaley rotate skewx skewy blur brightness contrast drop-shadow grayscale hue-rotate invert opacity saturate sepia circle
  ellipse inset polygon path not is where nth-child nth-of-type nth-last-child`.split(/\s+/),
);
const AT_RULES: ReadonlySet<string> = new Set(['media', 'supports', 'charset']);

/** Their values are text for people and programs, which no browser reads as a style. */
const TEXTUAL = /^(?:id|class|role|lang|title|version|name|aria-[a-z]+|data-[\w.-]+)$/;
/** Other elements of the picture, or a PNG or JPEG that is in it. */
const LINK = /^\s*(?:#|data:image\/(?:png|jpeg);base64,)/;

const NAME = '[A-Za-z_][\\w.-]*(?::[A-Za-z_][\\w.-]*)?';
const ATTRIBUTE = `\\s+(${NAME})\\s*=\\s*("[^"<]*"|'[^'<]*')`;
/** A comment, CDATA, an end tag, a start tag with its attributes, or text. */
const TOKEN = new RegExp(
  `<!--(?:(?!--)[^])*-->|<!\\[CDATA\\[(?<data>(?:(?!\\]\\]>)[^])*)\\]\\]>|</(?<end>${NAME})\\s*>|` +
    `<(?<start>${NAME})(?<attributes>(?:\\s+${NAME}\\s*=\\s*(?:"[^"<]*"|'[^'<]*'))*)\\s*(?<empty>/?)>|(?<text>[^<]+)`,
  'gy',
);
const HEAD = /^\uFEFF?\s*(?:<\?xml\s[^>]*\?>)?/;

/** Returns why the text is no plain picture, as `without …` of a sentence, or null. Takes time in proportion to its length. */
export function svgProblem(svg: string): string | null {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(svg)) return 'a document type or entities';
  const namespaces = new Map([['', SVG]]);
  const open: string[] = [];
  let at = HEAD.exec(svg)?.[0].length ?? 0;
  while (at < svg.length) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(svg)?.groups;
    if (token === undefined) return svg.startsWith('<?', at) ? 'processing instructions' : NOT_WELL_FORMED;
    at = TOKEN.lastIndex;
    const { data, end, start, attributes = '', empty, text } = token;
    if (end !== undefined && open.pop() !== end) return NOT_WELL_FORMED;
    const content = data ?? (text === undefined ? null : decoded(text));
    if (content !== null && open.at(-1)?.endsWith('style') === true) {
      const problem = styleProblem(content);
      if (problem !== null) return problem;
    }
    if (start === undefined) continue;
    const problem = tagProblem(start, [...attributes.matchAll(new RegExp(ATTRIBUTE, 'g'))], namespaces);
    if (problem !== null) return problem;
    if (empty === '') open.push(start);
  }
  return open.length === 0 ? null : NOT_WELL_FORMED;
}

const NOT_WELL_FORMED = 'text that is not well-formed XML';
const ELSEWHERE = 'links to elsewhere';

/** `namespaces`: by prefix, for the whole picture. A prefix means the same everywhere, so that order and nesting hide nothing. */
function tagProblem(
  tag: string,
  attributes: readonly RegExpExecArray[],
  namespaces: Map<string, string>,
): string | null {
  const pairs = attributes.map(([, name = '', quoted = '']) => ({ name, value: decoded(quoted.slice(1, -1)) }));
  for (const { name, value } of pairs) {
    if (name !== 'xmlns' && !name.startsWith('xmlns:')) continue;
    const prefix = name.slice('xmlns:'.length);
    const isKnown = value === SVG || (prefix !== '' && (value === XLINK || NOTES.has(value)));
    if (!isKnown || (namespaces.get(prefix) ?? value) !== value) return `the namespace ${value.slice(0, 100)}`;
    namespaces.set(prefix, value);
  }
  const [element, namespace] = named(tag, namespaces);
  if (namespace === undefined || namespace === XLINK) return `the element ${tag}`;
  if (namespace === SVG && !ELEMENTS.has(element)) return `the element ${tag}`;
  for (const { name, value } of pairs) {
    const problem = attributeProblem(name, value, namespaces);
    if (problem !== null) return problem;
  }
  return null;
}

function attributeProblem(name: string, value: string, namespaces: ReadonlyMap<string, string>): string | null {
  if (name === 'xmlns' || name.startsWith('xmlns:') || name === 'xml:space' || name === 'xml:lang') return null;
  const [local, namespace] = named(name, namespaces);
  if (namespace !== undefined && NOTES.has(namespace)) return null;
  if (/^on/i.test(local)) return 'event handlers';
  if (local === 'href') return LINK.test(value) ? null : ELSEWHERE;
  if (namespace === XLINK) return null;
  if (namespace === undefined || name.includes(':') || /^(?:base|src|srcset|ping)$/i.test(local))
    return `the attribute ${name}`;
  return TEXTUAL.test(name) ? null : styleProblem(value);
}

function named(name: string, namespaces: ReadonlyMap<string, string>): [local: string, namespace: string | undefined] {
  const [prefix = '', local = ''] = name.includes(':') ? name.split(':') : ['', name];
  return [local, namespaces.get(prefix)];
}

/** Comments and escapes could hide what a style does, so escapes are refused and comments count as what they are: the end of a word. */
function styleProblem(style: string): string | null {
  if (style.includes('\\')) return 'escapes in styles';
  for (const [, rule = ''] of style.matchAll(/@([\w-]*)/g))
    if (!AT_RULES.has(rule.toLowerCase())) return `the style rule @${rule}`;
  for (const { 1: word = '', index, 0: call } of style.matchAll(/(?<![\w-])([\w-]+)\(/g)) {
    const name = word.toLowerCase();
    if (!FUNCTIONS.has(name)) return `the style function ${name}`;
    if (name === 'url' && !/^\s*(?:["']\s*)?#/.test(style.slice(index + call.length))) return ELSEWHERE;
  }
  return null;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The text with its character references replaced (XML §4.1). Unknown ones stay: a browser refuses the picture. */
function decoded(text: string): string {
  return text.replaceAll(
    /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi,
    (reference, hex, decimal, name: string | undefined) => {
      if (name !== undefined) return ENTITIES[name] ?? reference;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : reference;
    },
  );
}
