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
} from '../../src/customers/theme.ts';
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
    ['a script', svg('<script>1</script>'), /scripts/],
    ['a script with a prefix', svg('<svg:script >1</svg:script>'), /scripts/],
    ['a foreign object', svg('<foreignObject/>'), /foreign objects/],
    ['an event handler', svg('<g onload="x()"/>'), /event handlers/],
    ['an event handler after a slash', svg('<g/onload=x()>'), /event handlers/],
    ['entities', `<!DOCTYPE svg [<!ENTITY a "b">]>${svg('')}`, /must be an SVG or PNG|document type/],
    ['entities within', svg('<!ENTITY a "b">'), /document type/],
    ['a link', svg('<a href="https://evil.example"/>'), /links to elsewhere/],
    ['a link in old style', svg("<use xlink:href = 'https://evil.example#a'/>"), /links to elsewhere/],
    ['a nested SVG', svg('<image href="data:image/svg+xml;base64,AAAA"/>'), /links to elsewhere/],
    ['an import', svg('<style>@import "https://evil.example"</style>'), /links to elsewhere/],
    ['a URL in a style', svg('<g style="fill:url( \'https://evil.example\')"/>'), /links to elsewhere/],
    ['a stylesheet of XML', `<svg><?xml-stylesheet href="#a"?></svg>`, /processing instructions/],
    ['too much', svg(`<path d="${'M0 0'.repeat(8000)}"/>`), /24 KiB/],
  ];
  for (const [what, text, problem] of table) it(`is not ${what}`, () => assert.match(refusal({ logo: text }), problem));
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
