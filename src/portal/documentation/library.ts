/** The pages of the documentation, and the search in them. */
import { type Html, html } from '../../http/html.ts';
import { documentFiles, RECEIVER_PACKAGE, readDocument, receiverPackage } from '../../kernel/assets.ts';
import { once } from '../../kernel/lifetime.ts';
import { nextTurn } from '../../kernel/turns.ts';
import { type DocumentPiece, type DocumentSection, sectionsOf } from '../parts/markdown.ts';
import { marked } from '../parts/text.ts';
import { type ListedPage, listedPages } from './reading-order.ts';

export const FOUND_MAX = 20;
const EXCERPT_LENGTH = 200;
/** So much may stand before the first word. */
const LEAD_LENGTH = 110;
const WORDS_MAX = 8;
/** The first page and these parts only lead to other pages, which are found themselves. */
export const INDEX = 'README.md';
const LEADS_ON = 'Where next';

export type Library = {
  has(file: string): boolean;
  /** The bytes of a file that it has. */
  read(file: string): Buffer;
  search(words: string): Promise<readonly FoundSection[]>;
  /** The pages that the first one links to, in its order. */
  listed(): Promise<readonly ListedPage[]>;
};

type Page = { readonly file: string; readonly title: string; readonly sections: readonly DocumentSection[] };
export type FoundSection = {
  readonly file: string;
  readonly title: string;
  readonly section: DocumentSection;
  readonly excerpt: Html;
};

export function createLibrary(): Library {
  let listed: ReadonlySet<string> | null = null;
  const files = (): ReadonlySet<string> => {
    listed ??= new Set(documentFiles());
    return listed;
  };
  const readPages = once(async (): Promise<readonly Page[]> => {
    const { lexer } = await import('marked');
    const read: Page[] = [];
    for (const file of [...files()].filter((name) => name.endsWith('.md') && name !== INDEX)) {
      const sections = sectionsOf(lexer(readDocument(file).toString('utf8')));
      read.push({
        file,
        title: titleOf(sections, file),
        sections: sections.filter(({ heading }) => heading !== LEADS_ON),
      });
      // A page takes up to some milliseconds.
      await nextTurn();
    }
    return read;
  });
  const readListed = once(async () => {
    const { lexer } = await import('marked');
    return listedPages(lexer(readDocument(INDEX).toString('utf8')));
  });
  return {
    // A checkout may get the package while the service runs.
    has: (file) => files().has(file) || (file === RECEIVER_PACKAGE && receiverPackage() !== null),
    read: (file) => (file === RECEIVER_PACKAGE ? receiverPackage()?.read() : undefined) ?? readDocument(file),
    search: async (words) => found(await readPages(), wordsOf(words)),
    listed: readListed,
  };
}

/** The beginnings by which a word is found: `retry` finds “retries” too, and the other way round. */
function formsOf(word: string): readonly string[] {
  if (/[^aeiou]y$/.test(word) && word.length > 3) return [word, `${word.slice(0, -1)}ie`];
  if (/[^aeiou]ies$/.test(word) && word.length > 4) return [word.slice(0, -1), `${word.slice(0, -3)}y`];
  return [word];
}

function isIn(text: string, forms: readonly string[]): boolean {
  return forms.some((form) => text.includes(form));
}

function wordsOf(text: string): string[] {
  return text.trim().toLowerCase().split(/\s+/).slice(0, WORDS_MAX);
}

/** Pages to look things up in come after pages to read, whatever their titles. */
const LOOKED_UP = /^(reference|decisions)\/|^(contract|embedding)\.md$/;
const LOOKED_UP_LOSS = 8;
const PHRASE_GAIN = 16;
/** A section that has a word several times is about it, and so is a page with several such sections. */
const TIMES_COUNTED = 3;
const SECTIONS_COUNTED = 4;
/** The title says more than a heading. */
const TITLE_GAIN = 12;
/** A title of nothing but the words says most. */
const SHARE_GAIN = 8;

/** Sections with all words, best first: words in the title and heading count more than those in the text, and so do all in one phrase. */
function found(pages: readonly Page[], words: readonly string[]): readonly FoundSection[] {
  const asked = words.map(formsOf);
  const scored = pages.flatMap(({ file, title, sections }) => {
    const texts = sections.map(({ pieces }) => pieces.map(({ text }) => text.toLowerCase()).join('\n'));
    const about = texts.filter((text) => asked.every((forms) => isIn(text, forms))).length;
    const isLookedUp = LOOKED_UP.test(file);
    const begin = isLookedUp ? -LOOKED_UP_LOSS : Math.min(SECTIONS_COUNTED, about);
    return sections.flatMap((section, at) => {
      const [inTitle, inHeading, inText = ''] = [title.toLowerCase(), section.heading.toLowerCase(), texts[at]];
      const scores = asked.map(
        (forms) =>
          (isIn(inTitle, forms) && !isLookedUp
            ? TITLE_GAIN + (SHARE_GAIN * (forms[0]?.length ?? 0)) / inTitle.length
            : 0) +
          8 * Number(isIn(inHeading, forms)) +
          Math.min(TIMES_COUNTED, timesIn(inText, forms)),
      );
      const isInSection = asked.some((forms) => isIn(inHeading, forms) || isIn(inText, forms));
      if (!isInSection || scores.includes(0)) return [];
      const isPhrase = words.length > 1 && inText.includes(words.join(' '));
      const score = scores.reduce((sum, one) => sum + one, begin + (isPhrase ? PHRASE_GAIN : 0));
      return [{ score, found: { file, title, section, excerpt: excerptOf(section, words, asked.flat()) } }];
    });
  });
  return scored
    .sort((a, b) => b.score - a.score)
    .slice(0, FOUND_MAX)
    .map((one) => one.found);
}

function timesIn(text: string, forms: readonly string[]): number {
  return forms.reduce((sum, form) => sum + text.split(form).length - 1, 0);
}

/** Of the piece that says most about the words, with them marked. Code is shown only where the words would be missing without it. */
function excerptOf({ heading, pieces }: DocumentSection, words: readonly string[], forms: readonly string[]): Html {
  const phrase = words.join(' ');
  const isNamed = words.every((word) => isIn(heading.toLowerCase(), formsOf(word)));
  const rated = pieces.map((piece) => {
    const text = piece.text.toLowerCase();
    const known = words.filter((word) => isIn(text, formsOf(word))).length;
    const loss = piece.kind === 'code' && isNamed ? WORDS_MAX + 2 : PIECE_LOSS[piece.kind];
    return { piece, score: known + Number(text.includes(phrase)) - loss };
  });
  const [best] = rated.toSorted((a, b) => b.score - a.score);
  if (best === undefined) return html``;
  const { kind, text } = best.piece;
  const shown = marked(cutAround(text, words, forms), forms);
  return kind === 'code' ? html`<code>${shown}</code>` : shown;
}

/** Code says least to a reader. */
const PIECE_LOSS: Readonly<Record<DocumentPiece['kind'], number>> = { prose: 0, row: 0.25, code: 0.75 };

/** Whole words around the first of the words, from the beginning of a sentence if it is near. */
function cutAround(text: string, words: readonly string[], forms: readonly string[]): string {
  const lower = text.toLowerCase();
  const phrase = lower.indexOf(words.join(' '));
  const places = forms.map((form) => lower.indexOf(form)).filter((at) => at >= 0);
  const first = phrase >= 0 ? phrase : places.length === 0 ? 0 : Math.min(...places);
  const sentence = [...text.slice(0, first).matchAll(/[.:;] /g)].at(-1);
  const begin = sentence === undefined ? 0 : sentence.index + sentence[0].length;
  const isNear = first - begin <= LEAD_LENGTH;
  const word = text.lastIndexOf(' ', first - LEAD_LENGTH / 2) + 1;
  const start = first <= LEAD_LENGTH ? 0 : isNear ? begin : word;
  const cut = text.slice(start, start + EXCERPT_LENGTH);
  const isCut = start + EXCERPT_LENGTH < text.length;
  const end = isCut && cut.includes(' ') ? `${cut.slice(0, cut.lastIndexOf(' '))} …` : cut;
  return start === word && start > 0 ? `… ${end}` : end;
}

/** The first heading: a page may begin with a comment. */
export function titleOf(sections: readonly DocumentSection[], file: string): string {
  return sections.find(({ heading }) => heading !== '')?.heading ?? file;
}
