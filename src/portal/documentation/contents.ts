/** The headings of a long page, as links to them: in a column beside it, on narrow screens in a box that opens above it. */
import { type Html, html } from '../../http/html.ts';

/** `depth` is 2 for a part, and 3 for a heading below it. */
export type Heading = { readonly heading: string; readonly anchor: string | null; readonly depth: number };

/** A page has contents from so many parts on, and with the headings below them up to so many in total. */
const CONTENTS_FROM = 3;
const CONTENTS_MAX = 40;

/** Null for a short page. */
export function contentsOf(headings: readonly Heading[]): Html | null {
  const shown = headings.filter(({ depth, anchor }) => (depth === 2 || depth === 3) && anchor !== null);
  const parts = shown.filter(({ depth }) => depth === 2);
  if (parts.length < CONTENTS_FROM) return null;
  // Of a long page, only its parts.
  const listed = shown.length > CONTENTS_MAX ? parts : shown;
  const items = listed.map(
    ({ heading, anchor, depth }) =>
      html`<li class="${depth === 3 ? 'doc-contents-below' : ''}"><a href="#${anchor}">${heading}</a></li>`,
  );
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
