/** The order in which the first page of the documentation lists the others: the group of a page, and its neighbours. Pure. */
import type { Token, Tokens } from 'marked';
import { type DocumentSection, sectionsOf } from '../parts/markdown.ts';

export type ListedPage = { readonly file: string; readonly title: string; readonly group: DocumentSection };
export type ReadingPlace = {
  readonly group: DocumentSection;
  readonly before: ListedPage | null;
  readonly after: ListedPage | null;
};

/** The pages that the lists of the first page link to, each once. */
export function listedPages(index: readonly Token[]): readonly ListedPage[] {
  const groups = sectionsOf(index).filter(({ depth }) => depth > 0);
  let at = -1;
  const pages: ListedPage[] = [];
  for (const token of index) {
    if (token.type === 'heading') at += 1;
    const group = groups[at];
    if (token.type !== 'list' || group === undefined) continue;
    for (const { href, text } of linksIn((token as Tokens.List).items)) {
      if (/^[^.:#][^:#]*\.md$/.test(href) && !pages.some(({ file }) => file === href))
        pages.push({ file: href, title: text, group });
    }
  }
  return pages;
}

/** Null for a page that is not listed. The pages before and after are of the same group. */
export function placeOf(pages: readonly ListedPage[], file: string): ReadingPlace | null {
  const at = pages.findIndex((page) => page.file === file);
  const own = pages[at];
  if (own === undefined) return null;
  const near = (place: number): ListedPage | null => {
    const page = pages[place];
    return page?.group === own.group ? page : null;
  };
  return { group: own.group, before: near(at - 1), after: near(at + 1) };
}

function linksIn(tokens: readonly { readonly tokens?: Token[] | undefined; readonly type?: string }[]): Tokens.Link[] {
  return tokens.flatMap((token) =>
    token.type === 'link' ? [token as Tokens.Link] : token.tokens === undefined ? [] : linksIn(token.tokens),
  );
}
