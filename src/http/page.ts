/** A page outside the portal in its style, without scripts and without a referrer. */
import { type Html, html } from './html.ts';
import type { Reply } from './route.ts';

/** The look of a page of the customers' portal. */
export type PageLook = { readonly name: string; readonly mark: Html; readonly accentStyle: string | null };

/** `look` is null for a page of the operator. */
export type PageReply = (status: number, title: string, content: Html, look?: PageLook | null) => Reply;

/** `stylesheet`: the path of the portal's stylesheet. */
export function createPageReply(stylesheet: string): PageReply {
  return (status, title, content, look = null) => ({
    status,
    headers: HEADERS,
    body: pageText(stylesheet, title, content, look),
  });
}

function pageText(stylesheet: string, title: string, content: Html, look: PageLook | null): string {
  return html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="robots" content="noindex">
        <title>${title} – ${look === null ? 'Sallyport' : look.name}</title>
        <link rel="stylesheet" href="${stylesheet}">
        ${look?.accentStyle == null ? null : html`<link rel="stylesheet" href="${look.accentStyle}">`}
      </head>
      <body class="bare">
        <main>
          <div class="page">
            <div class="sign-in">
              <p class="brand">${look === null ? OWN_MARK : look.mark}</p>
              <h1>${title}</h1>
              ${content}
            </div>
          </div>
        </main>
      </body>
    </html>
  `.markup;
}

const OWN_MARK = html`
  <svg class="icon" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
    <path d="M3 18V9a7 7 0 0 1 14 0v9M7 18v-8a3 3 0 0 1 6 0v8"/>
  </svg>Sallyport
`;

/** The address may contain a secret, so no referrer is sent. Caching is disabled in every reply. */
const HEADERS = {
  'Content-Type': 'text/html;charset=UTF-8',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
} as const;
