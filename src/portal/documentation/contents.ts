/** The headings of a long page, as links to them: in a column beside it, on narrow screens in a box that opens above it. */
import { type Html, html } from '../../http/html.ts';
import { countOf } from '../parts/text.ts';

/** `depth` is 2 for a part, and 3 for a heading below it. */
export type Heading = { readonly heading: string; readonly anchor: string | null; readonly depth: number };

/** A page has contents from so many parts on. From more headings on, those below each part are folded. */
const CONTENTS_FROM = 3;
const CONTENTS_MAX = 40;

/** Null for a short page. */
export function contentsOf(headings: readonly Heading[]): Html | null {
  const shown = headings.filter(({ depth, anchor }) => (depth === 2 || depth === 3) && anchor !== null);
  const parts = shown.filter(({ depth }) => depth === 2);
  if (parts.length < CONTENTS_FROM) return null;
  const items = shown.length > CONTENTS_MAX ? foldedItems(shown) : shown.map(itemOf);
  return html`
    <nav class="doc-contents" aria-label="On this page">
      <p class="doc-contents-title">On this page</p>
      <ul>${items}</ul>
    </nav>
    <details class="doc-contents-narrow">
      <summary>On this page</summary>
      <ul>${items}</ul>
    </details>
  `;
}

function itemOf({ heading, anchor, depth }: Heading): Html {
  return html`<li class="${depth === 3 ? 'doc-contents-below' : ''}"><a href="#${anchor}">${heading}</a></li>`;
}

function foldedItems(headings: readonly Heading[]): Html[] {
  const first = headings.findIndex(({ depth }) => depth === 2);
  return headings.slice(first).flatMap((part, at, all) => {
    if (part.depth !== 2) return [];
    const rest = all.slice(at + 1);
    const end = rest.findIndex(({ depth }) => depth === 2);
    const below = end === -1 ? rest : rest.slice(0, end);
    if (below.length === 0) return itemOf(part);
    return html`
      <li>
        <a href="#${part.anchor}">${part.heading}</a>
        <details>
          <summary aria-label="${`${part.heading}: ${countOf(below.length, 'heading')}`}">${below.length}</summary>
          <ul>${below.map(itemOf)}</ul>
        </details>
      </li>
    `;
  });
}
