/** A page for people: one file without scripts, which asks for nothing from anywhere (CSP), in light and dark. */
import { hash } from 'node:crypto';
import { type Html, html } from './html.ts';
import type { Reply } from './route.ts';

export function pageReply(status: number, title: string, content: Html): Reply {
  return { status, headers: HEADERS, body: pageText(title, content) };
}

function pageText(title: string, content: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} – Sallyport</title>
${STYLE}
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`.markup;
}

const STYLE = html`<style>
:root { color-scheme: light dark; --ink: #1c2024; --ground: #fbfbfa; --line: #8b8d98; --accent: #0b5cad; --on-accent: #fff; --wrong: #a8161b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #edeef0; --ground: #15171a; --line: #777b84; --accent: #8ec2ff; --on-accent: #10151b; --wrong: #ff9592; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 26rem; margin: 12vh auto; padding: 0 1.25rem; }
h1 { font-size: 1.5rem; line-height: 1.25; }
label { display: block; margin-top: 1.25rem; font-weight: 600; }
input, button { width: 100%; padding: .625rem .75rem; font: inherit; border-radius: .375rem; }
input { color: inherit; background: transparent; border: 1px solid var(--line); }
input[readonly] { border-style: dashed; }
input[aria-invalid="true"], input:user-invalid { border-color: var(--wrong); }
button { margin-top: 1.75rem; color: var(--on-accent); background: var(--accent); border: 0; font-weight: 600; cursor: pointer; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
p.hint { margin: .25rem 0 0; font-size: .875rem; }
p.problem { margin: .25rem 0 0; color: var(--wrong); font-weight: 600; }
</style>`;

/** The style is the only thing that is not the page's own text; its hash lets in this one and no other (CSP Level 3 §6.7.3). */
const STYLE_TEXT = STYLE.markup.slice('<style>'.length, -'</style>'.length);
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE_TEXT, 'base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** An address may hold a secret: it goes to nobody as a referrer, and the page stays in no cache (every reply says so). */
const HEADERS = {
  'Content-Type': 'text/html;charset=UTF-8',
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
} as const;
