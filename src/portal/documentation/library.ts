/** The pages of the documentation, and the search in them. */
import { type Html, html } from '../../http/html.ts';
import { documentFiles, RECEIVER_PACKAGE, readDocument, receiverPackage } from '../../kernel/assets.ts';
import { nextTurn } from '../../kernel/turns.ts';
import { type DocumentSection, sectionsOf } from '../parts/markdown.ts';

const FOUND_MAX = 20;
const EXCERPT_LENGTH = 200;
const WORDS_MAX = 8;
/** The first page and these parts only lead to other pages, which are found themselves. */
const INDEX = 'README.md';
const LEADS_ON = 'Where next';

export type Library = {
  has(file: string): boolean;
  /** The bytes of a file that it has. */
  read(file: string): Buffer;
  search(words: string): Promise<readonly FoundSection[]>;
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
  let pages: Promise<readonly Page[]> | null = null;
  const files = (): ReadonlySet<string> => {
    listed ??= new Set(documentFiles());
    return listed;
  };
  const readPages = async (): Promise<readonly Page[]> => {
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
  };
  return {
    // A checkout may get the package while the service runs.
    has: (file) => files().has(file) || (file === RECEIVER_PACKAGE && receiverPackage() !== null),
    read: (file) => (file === RECEIVER_PACKAGE ? receiverPackage()?.read() : undefined) ?? readDocument(file),
    search: async (words) => {
      pages ??= readPages();
      return found(await pages, wordsOf(words));
    },
  };
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/\s+/).slice(0, WORDS_MAX);
}

/** Pages to look things up in come after pages to read. */
const LOOKED_UP = /^(reference|decisions)\/|^contract\.md$/;
const LOOKED_UP_LOSS = 8;
const PHRASE_GAIN = 16;

/** Sections with all words, best first: words in the title and heading count more than those in the text, and so do all in one phrase. */
function found(pages: readonly Page[], words: readonly string[]): readonly FoundSection[] {
  const scored = pages.flatMap(({ file, title, sections }) =>
    sections.flatMap((section) => {
      const [inTitle, inHeading, inText] = [title, section.heading, section.text].map((text) => text.toLowerCase());
      const scores = words.map(
        (word) =>
          4 * Number(inTitle?.includes(word)) + 8 * Number(inHeading?.includes(word)) + Number(inText?.includes(word)),
      );
      const isInSection = words.some((word) => inHeading?.includes(word) || inText?.includes(word));
      if (!isInSection || scores.includes(0)) return [];
      const isPhrase = words.length > 1 && inText?.includes(words.join(' ')) === true;
      const begin = (LOOKED_UP.test(file) ? -LOOKED_UP_LOSS : 0) + (isPhrase ? PHRASE_GAIN : 0);
      const score = scores.reduce((sum, one) => sum + one, begin);
      return [{ score, found: { file, title, section, excerpt: excerptOf(section.text, words) } }];
    }),
  );
  return scored
    .sort((a, b) => b.score - a.score)
    .slice(0, FOUND_MAX)
    .map((one) => one.found);
}

/** The text around all words in one phrase, or around the first word, with all words marked. */
function excerptOf(text: string, words: readonly string[]): Html {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const phrase = lower.indexOf(words.join(' '));
  const first = phrase >= 0 ? phrase : places.length === 0 ? 0 : Math.min(...places);
  const start = Math.max(0, first - EXCERPT_LENGTH / 4);
  const shown = text.slice(start, start + EXCERPT_LENGTH);
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const parts = shown.split(new RegExp(`(${escaped.join('|')})`, 'i'));
  const marked = parts.map((part, at) => (at % 2 === 1 ? html`<mark>${part}</mark>` : part));
  return html`${start > 0 ? '…' : ''}${marked}${start + EXCERPT_LENGTH < text.length ? '…' : ''}`;
}

/** The first heading: a page may begin with a comment. */
export function titleOf(sections: readonly DocumentSection[], file: string): string {
  return sections.find(({ heading }) => heading !== '')?.heading ?? file;
}
