/** Links to the sections of a long page. */
import { type Html, html } from '../../http/html.ts';

/** `id` is that of the section. */
type PageLink = { readonly id: string; readonly label: string };

export function pageLinks(links: readonly PageLink[]): Html {
  const made = links.map(({ id, label }) => html`<li><a href="#${id}">${label}</a></li>`);
  return html`<nav class="page-links" aria-label="On this page"><ul>${made}</ul></nav>`;
}
