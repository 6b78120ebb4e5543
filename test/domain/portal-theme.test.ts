/** The look of the customers' portal: contrast of any accent, and pictures that are no more than that. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import {
  accentNote,
  accentStyle,
  CONTRAST_MIN,
  contrast,
  NO_THEME,
  readTheme,
  type Scheme,
  shadesOf,
} from '../../src/domain/portal-theme.ts';
import { svgProblem } from '../../src/domain/svg.ts';
import { readAsset } from '../../src/kernel/assets.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';

const colour = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`);

/** The backgrounds of tokens.css, of a scheme. */
function grounds(scheme: Scheme): string[] {
  const tokens = readAsset('portal/tokens.css');
  return ['ground', 'surface', 'raised', 'sunken', 'hover'].map((name) => {
    const [, light = '', dark = ''] = new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(tokens) ?? [];
    return scheme === 'light' ? light : dark;
  });
}

describe('an accent', () => {
  for (const scheme of ['light', 'dark'] as const) {
    it(`of any colour is readable on every ${scheme} background, and so is text on it`, () => {
      fc.assert(
        fc.property(colour, (accent) => {
          const { accent: used, strong, soft, on } = shadesOf(accent, scheme);
          for (const ground of grounds(scheme)) assert(contrast(used, ground) >= CONTRAST_MIN, `${used} on ${ground}`);
          for (const text of [used, strong]) assert(contrast(text, soft) >= CONTRAST_MIN, `${text} on ${soft}`);
          assert(contrast(on, used) >= CONTRAST_MIN, `${on} on ${used}`);
        }),
      );
    });
  }

  it('is kept where it is readable, and the note says where it is not', () => {
    assert.equal(shadesOf('#4353c8', 'light').accent, '#4353c8');
    assert.equal(shadesOf('#9ba6ff', 'dark').accent, '#9ba6ff');
    assert.match(accentNote('#ffee00') ?? '', /^Text in #ffee00 would be hard to read.* on light backgrounds\.$/);
    assert.match(accentNote('#000000') ?? '', / on dark ones\.$/);
    assert.equal(contrast('#ffffff', '#000000'), 21);
  });

  it('sets the four properties that tokens.css has for it, and nothing else', () => {
    const set = [...accentStyle('#123456').matchAll(/^ {2}(--[\w-]+):/gm)].map(([, name]) => name);
    assert.deepEqual(set, ['--accent', '--accent-strong', '--accent-soft', '--on-accent']);
    for (const name of set) assert.match(readAsset('portal/tokens.css'), new RegExp(`^ {2}${name}: `, 'm'));
  });
});

const logo = (text: string) => readTheme({ name: '', logo: text, accent: '' }).logo;
const refusal = (input: Partial<Record<'name' | 'logo' | 'accent', string>>): string => {
  try {
    readTheme({ name: '', logo: '', accent: '', ...input });
  } catch (error) {
    return (error as Refusal).message;
  }
  return 'accepted';
};
const svg = (inside: string): string => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">${inside}</svg>`;
const png = (width: number, height: number): string => {
  const bytes = Buffer.alloc(40);
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').copy(bytes);
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return `data:image/png;base64,${bytes.toString('base64')}`;
};

describe('a logo', () => {
  it('is an SVG or a PNG, as a data: URL', () => {
    const text = svg('<path d="M0 0h9v9z" fill="url(#a)"/><use href="#b"/><image href="data:image/png;base64,AAAA"/>');
    const expected = `data:image/svg+xml;base64,${Buffer.from(text).toString('base64')}`;
    for (const given of [text, expected, `data:image/svg+xml,${encodeURIComponent(text)}`])
      assert.equal(logo(given), expected);
    assert.match(logo(`<?xml version="1.0"?>\n<!-- ours -->\n${text}`) ?? '', /^data:image\/svg/);
    assert.equal(logo(png(64, 32)), png(64, 32));
    // As editors write them.
    for (const inside of [
      '<style type="text/css"><![CDATA[.a{fill:#fff;filter:url(#b)} @media (prefers-color-scheme: dark) {.a{fill:rgb(0,0,0)}}]]></style>',
      '<g id="Layer_1" data-name="Layer (1)" transform="translate(1 2) rotate(3)" style="fill:none" ' +
        'aria-label="Acme(R)"><title>A &amp; B(c)</title></g>',
      '<metadata xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:RDF rdf:about="https://a.example"/></metadata>',
      '<g xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape" inkscape:export-filename="C:\\a.png"/>',
      '<use xlink:href="#a" xmlns:xlink="http://www.w3.org/1999/xlink" xml:space="preserve"/>',
    ])
      assert.match(logo(svg(inside)) ?? '', /^data:image\/svg/, inside);
    assert.deepEqual(readTheme({ name: ' ', logo: '', accent: '' }), NO_THEME);
  });

  const table: readonly [what: string, text: string, problem: RegExp][] = [
    ['text', 'hello', /must be an SVG or PNG/],
    ['another type', 'data:text/html;base64,PHN2Zz4=', /must be an SVG or PNG/],
    ['HTML', '<html><svg></svg></html>', /must be an SVG or PNG/],
    ['a PNG in name alone', 'data:image/png;base64,aGVsbG8=', /must be an SVG or PNG/],
    ['a PNG that unpacks to much', png(30_000, 30_000), /at most 2048 pixels/],
    ['compressed SVG', `data:image/svg+xml;base64,${gzipSync(svg('')).toString('base64')}`, /must be an SVG or PNG/],
    ['broken percents', 'data:image/svg+xml,%', /must be an SVG or PNG/],
    ['a script', svg('<script>1</script>'), /the element script/],
    ['a script with a prefix', svg('<svg:script >1</svg:script>'), /the element svg:script/],
    [
      'a script with a prefix of its own',
      svg('<a:script xmlns:a="http://www.w3.org/2000/svg">1</a:script>'),
      /the element a:script/,
    ],
    ['an element of HTML', svg('<b xmlns="http://www.w3.org/1999/xhtml"/>'), /the namespace/],
    [
      'a prefix with two meanings',
      svg('<g xmlns:a="http://www.serif.com/"/><a:script xmlns:a="http://www.w3.org/2000/svg"/>'),
      /the namespace/,
    ],
    ['a foreign object', svg('<foreignObject/>'), /the element foreignObject/],
    ['an animation', svg('<animateMotion/>'), /the element animateMotion/],
    ['a link of a page', svg('<a href="#b"/>'), /the element a$/],
    ['a filter with a picture', svg('<feImage href="#a"/>'), /the element feImage/],
    ['an event handler', svg('<g onload="x()"/>'), /event handlers/],
    ['an event handler after a slash', svg('<g/onload=x()>'), /well-formed/],
    [
      'an event handler of an editor',
      svg('<g xlink:onload="x()" xmlns:xlink="http://www.w3.org/1999/xlink"/>'),
      /event handlers/,
    ],
    ['open at its end', '<svg><g></svg>', /well-formed/],
    ['entities', `<!DOCTYPE svg [<!ENTITY a "b">]>${svg('')}`, /must be an SVG or PNG|document type/],
    ['entities within', svg('<!ENTITY a "b">'), /document type/],
    ['a link', svg('<use href="https://evil.example"/>'), /links to elsewhere/],
    ['a link in references', svg('<use href="&#104;ttps://evil.example"/>'), /links to elsewhere/],
    ['a link in old style', svg("<use xlink:href = 'https://evil.example#a'/>"), /links to elsewhere/],
    ['another base of links', svg('<g xml:base="https://evil.example"/>'), /the attribute xml:base/],
    ['a nested SVG', svg('<image href="data:image/svg+xml;base64,AAAA"/>'), /links to elsewhere/],
    ['an import', svg('<style>@import "https://evil.example"</style>'), /the style rule @import/],
    ['an import with an escape', svg('<style>@\\69mport "https://evil.example"</style>'), /escapes/],
    ['an import in references', svg('<style>&#64;import "https://evil.example"</style>'), /the style rule @import/],
    ['an import in CDATA', svg('<style><![CDATA[@import "https://evil.example"]]></style>'), /the style rule @import/],
    [
      'an import after a comment',
      svg('<style><!-- a -->@import "https://evil.example"</style>'),
      /the style rule @import/,
    ],
    ['a font', svg('<style>@font-face{src:url(#a)}</style>'), /the style rule @font-face/],
    [
      'a set of pictures',
      svg('<g style="mask-image:image-set(\'https://evil.example\' 1x)"/>'),
      /the style function image-set/,
    ],
    [
      'a set of pictures by prefix',
      svg('<style>g{mask:-webkit-image-set("a" 1x)}</style>'),
      /style function -webkit-image-set/,
    ],
    ['a style function that is not known', svg('<g mask="src(\'a\')"/>'), /the style function src/],
    ['a URL in a style', svg('<g style="fill:url( \'https://evil.example\')"/>'), /links to elsewhere/],
    ['a stylesheet of XML', `<svg><?xml-stylesheet href="#a"?></svg>`, /processing instructions/],
    ['too much', svg(`<path d="${'M0 0'.repeat(8000)}"/>`), /24 KiB/],
  ];
  for (const [what, text, problem] of table) it(`is not ${what}`, () => assert.match(refusal({ logo: text }), problem));

  it('is examined in time in proportion to its length', () => {
    // With two adjacent searches for blanks it would take an hour.
    const blanks = ' '.repeat(2_000_000);
    assert.equal(svgProblem(svg(`<g fill="url(${blanks}x)"/>`)), 'links to elsewhere');
    assert.equal(svgProblem(svg(`<g fill="url( ' #a')"/>`)), null);
  });
});

describe('a look', () => {
  it('is refused with every problem named', () => {
    assert.match(
      refusal({ name: 'a'.repeat(61), accent: 'blue', logo: 'x' }),
      /^name must have at most 60 .*and 2 more/,
    );
    assert.match(refusal({ name: 'a\u0007' }), /control characters/);
    assert.match(refusal({ accent: '#fff' }), /a colour such as #4353c8/);
    assert.deepEqual(readTheme({ name: ' Shop ', logo: '', accent: '#ABCDEF' }), {
      name: 'Shop',
      logo: null,
      accent: '#abcdef',
    });
  });
});
