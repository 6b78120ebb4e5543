/**
 * The look of the customers' portal (contract §8.16): name, logo and accent colour of the operator. Pure: colours are checked for contrast
 * against every background of the portal (WCAG 2.2, 1.4.3), and logos for content that is more than a picture.
 */
import { createHash } from 'node:crypto';
import { refuseFields } from '../kernel/refusal.ts';
import { svgProblem } from './svg.ts';

// The look of the customers' portal. Every page carries the logo.
const THEME_NAME_MAX_LENGTH = 60;
export const THEME_LOGO_BYTES: number = 24 * 1024;
const THEME_LOGO_PIXELS_MAX = 2048;

export type PortalTheme = {
  /** The operator as its customers know it; null: none is shown. */
  readonly name: string | null;
  /** A `data:` URL of an SVG or PNG picture. */
  readonly logo: string | null;
  /** `#rrggbb` as the operator chose it. */
  readonly accent: string | null;
};

export const NO_THEME: PortalTheme = { name: null, logo: null, accent: null };

/** The input of a person. An empty text means no value. */
type ThemeInput = { readonly name: string; readonly logo: string; readonly accent: string };

/** Throws 400, which names the fields. */
export function readTheme(input: ThemeInput): PortalTheme {
  const [name, logo, accent] = [input.name.trim(), input.logo.trim(), input.accent.trim().toLowerCase()];
  const picture = logo === '' ? null : readLogo(logo);
  const problems = [
    { field: 'name', problem: nameProblem(name) },
    { field: 'logo', problem: picture !== null && 'problem' in picture ? picture.problem : null },
    { field: 'accent', problem: accent === '' || COLOUR.test(accent) ? null : 'must be a colour such as #4353c8' },
  ].flatMap(({ field, problem }) => (problem === null ? [] : [{ field, problem }]));
  if (problems.length > 0) throw refuseFields(problems);
  return {
    name: name === '' ? null : name,
    logo: picture !== null && 'url' in picture ? picture.url : null,
    accent: accent === '' ? null : accent,
  };
}

function nameProblem(name: string): string | null {
  if (name.length > THEME_NAME_MAX_LENGTH) return `must have at most ${THEME_NAME_MAX_LENGTH} characters`;
  return /\p{Cc}/u.test(name) ? 'must not contain control characters' : null;
}

const COLOUR = /^#[0-9a-f]{6}$/;

type Picture = { readonly url: string } | { readonly problem: string };

/** An SVG as text, or an SVG or PNG as a `data:` URL. */
function readLogo(text: string): Picture {
  const [, type, encoding, data = ''] = /^data:(image\/[a-z+]+)(?:;charset=[\w-]+)?(;base64)?,(.*)$/s.exec(text) ?? [];
  if (type === undefined) return text.startsWith('data:') ? NOT_A_PICTURE : readSvg(text);
  if (type === 'image/png' && encoding !== undefined) return readPng(Buffer.from(data, 'base64'));
  if (type !== 'image/svg+xml') return NOT_A_PICTURE;
  try {
    return readSvg(encoding === undefined ? decodeURIComponent(data) : Buffer.from(data, 'base64').toString('utf8'));
  } catch {
    return NOT_A_PICTURE;
  }
}

const NOT_A_PICTURE: Picture = { problem: 'must be an SVG or PNG picture' };
const TOO_LARGE: Picture = { problem: `must have at most ${THEME_LOGO_BYTES / 1024} KiB` };

/** PNG §5: the signature, and the header with the size. */
function readPng(bytes: Buffer): Picture {
  const isPng = bytes.length > 24 && bytes.subarray(0, 8).equals(PNG) && bytes.subarray(12, 16).toString() === 'IHDR';
  if (!isPng) return NOT_A_PICTURE;
  if (bytes.length > THEME_LOGO_BYTES) return TOO_LARGE;
  // A small file may unpack to gigabytes.
  if (Math.max(bytes.readUInt32BE(16), bytes.readUInt32BE(20)) > THEME_LOGO_PIXELS_MAX)
    return { problem: `must be at most ${THEME_LOGO_PIXELS_MAX} pixels wide and high` };
  return { url: `data:image/png;base64,${bytes.toString('base64')}` };
}

const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

/**
 * Pages show it in an `<img>`, where it can neither run nor load anything (SVG Integration §7.2). Active content is refused all the same:
 * people also open a picture without its page.
 */
function readSvg(text: string): Picture {
  if (Buffer.byteLength(text) > THEME_LOGO_BYTES) return TOO_LARGE;
  if (!/^\uFEFF?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--(?:(?!-->)[\s\S])*-->\s*)*<svg[\s>]/.test(text)) return NOT_A_PICTURE;
  const problem = svgProblem(text);
  if (problem !== null) return { problem: `must be a plain picture, without ${problem}` };
  return { url: `data:image/svg+xml;base64,${Buffer.from(text).toString('base64')}` };
}

type Shades = {
  /** For text and lines on every background, and behind `on`. */
  readonly accent: string;
  readonly strong: string;
  readonly soft: string;
  /** Text on `accent`. */
  readonly on: string;
};

/** The backgrounds that accent-coloured text stands on, and the shade towards which the accent moves. As in tokens.css. */
const SCHEMES = {
  light: { ground: ['#f7f7f5', '#ffffff', '#f1f1ee'], raised: ['#efefec'], surface: '#ffffff', towards: '#000000' },
  dark: {
    ground: ['#121316', '#1a1c20', '#15171a'],
    raised: ['#22252a', '#25282e'],
    surface: '#1a1c20',
    towards: '#ffffff',
  },
} as const;
export type Scheme = keyof typeof SCHEMES;

/** WCAG 2.2, 1.4.3, for text. */
export const CONTRAST_MIN = 4.5;
/** 1.4.6, which the portal's own colours meet in the dark for text on plain ground. */
const ENHANCED_MIN = 7;

/** The accent as it is used: moved away from the backgrounds until text in it is readable there. */
export function shadesOf(accent: string, scheme: Scheme): Shades {
  const { ground, raised, surface, towards } = SCHEMES[scheme];
  const onGround = scheme === 'light' ? CONTRAST_MIN : ENHANCED_MIN;
  const soft = mixed(surface, accent, scheme === 'light' ? 0.1 : 0.2);
  const base = firstFit(
    accent,
    towards,
    (colour) =>
      ground.every((at) => contrast(colour, at) >= onGround) &&
      [...raised, soft].every((at) => contrast(colour, at) >= CONTRAST_MIN),
  );
  const strong = firstFit(mixed(base, towards, 0.2), towards, (colour) => contrast(colour, soft) >= onGround);
  const on = contrast('#ffffff', base) >= contrast('#14162b', base) ? '#ffffff' : '#14162b';
  return { accent: base, strong, soft, on };
}

/** In steps of a hundredth. The end of the way, black or white, is always readable. */
function firstFit(from: string, towards: string, fits: (colour: string) => boolean): string {
  for (let step = 0; step < 100; step += 1) {
    const colour = mixed(from, towards, step / 100);
    if (fits(colour)) return colour;
  }
  return towards;
}

/** The accent as shown, if it differs from the chosen one; null: the chosen one is readable. */
export function accentNote(accent: string): string | null {
  const [light, dark] = [shadesOf(accent, 'light').accent, shadesOf(accent, 'dark').accent];
  const changed = [
    ...(light === accent ? [] : [`${light} on light backgrounds`]),
    ...(dark === accent ? [] : [`${dark} on dark ones`]),
  ];
  if (changed.length === 0) return null;
  return `Text in ${accent} would be hard to read, so the portal uses ${changed.join(' and ')}.`;
}

/** The stylesheet that replaces the accent of tokens.css. */
export function accentStyle(accent: string): string {
  const [light, dark] = [shadesOf(accent, 'light'), shadesOf(accent, 'dark')];
  const line = (name: string, of: keyof Shades): string => `  --${name}: light-dark(${light[of]}, ${dark[of]});\n`;
  return (
    ':root ' +
    `{\n${line('accent', 'accent')}${line('accent-strong', 'strong')}${line('accent-soft', 'soft')}${line('on-accent', 'on')}}\n`
  );
}

/** Names the stylesheet by its colour and content, so that browsers cache it permanently. */
export function accentVersion(accent: string): string {
  return `${accent.slice(1)}-${createHash('sha256').update(accentStyle(accent)).digest('hex').slice(0, 16)}`;
}

/** WCAG 2.2 "contrast ratio", 1 to 21. */
export function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((byte) => {
    const part = byte / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** `share` of the second colour, 0 to 1. */
function mixed(one: string, other: string, share: number): string {
  const [a, b] = [channels(one), channels(other)];
  const parts = a.map((byte, at) => Math.round(byte + ((b[at] ?? 0) - byte) * share));
  return `#${parts.map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}
