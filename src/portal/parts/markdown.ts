/** Pages of the documentation as HTML. Every token goes through the HTML template, so nothing in a page can be markup of its own. */
import type { Token, Tokens } from 'marked';
import { attributes, type Html, html } from '../../http/html.ts';
import { copyButton } from './details.ts';

/** Returns the address of a link; null if there is no such page, and then only the text of the link is shown. */
export type Resolve = (href: string) => string | null;

/** The tokens of a page (`lexer` of marked) as HTML. */
export function markdown(tokens: readonly Token[], resolve: Resolve): Html {
  const anchors = createAnchors();
  const blocks = (all: readonly Token[]): Html[] => all.map(block);
  const inlines = (all: readonly Token[] = []): Html[] => all.map(inline);

  const block = (token: Token): Html => {
    switch (token.type) {
      case 'heading':
        return headingOf(token as Tokens.Heading);
      case 'paragraph':
        return html`<p>${inlines(token.tokens)}</p>`;
      case 'code':
        return html`
          <div class="doc-code">
            <pre class="${DRAWN.test(token.text) ? 'doc-drawing' : ''}" tabindex="0"><code>${token.text}</code></pre>
            ${copyButton('', 'Copy the code')}
          </div>
        `;
      case 'blockquote':
        return html`<blockquote>${blocks(token.tokens ?? [])}</blockquote>`;
      case 'list':
        return listOf(token as Tokens.List);
      case 'table':
        return tableOf(token as Tokens.Table);
      case 'hr':
        return html`<hr>`;
      case 'text':
        return html`${token.tokens === undefined ? token.text : inlines(token.tokens)}`;
      default:
        return html``;
    }
  };

  const headingOf = ({ depth, text, tokens: inside }: Tokens.Heading): Html => {
    const id = anchors(text);
    const content = inlines(inside);
    if (depth === 1) return html`<h1 id="${id}">${content}</h1>`;
    if (depth === 2) return html`<h2 id="${id}">${content}</h2>`;
    return html`<h3 id="${id}">${content}</h3>`;
  };

  const listOf = ({ ordered, items }: Tokens.List): Html => {
    const lines = items.map((item) => html`<li>${blocks(item.tokens)}</li>`);
    return ordered ? html`<ol>${lines}</ol>` : html`<ul>${lines}</ul>`;
  };

  const tableOf = ({ header, rows }: Tokens.Table): Html => {
    const heads = header.map((cell) => html`<th scope="col">${inlines(cell.tokens)}</th>`);
    const lines = rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${inlines(cell.tokens)}</td>`)}</tr>`);
    return html`
      <div class="doc-table" tabindex="0" role="group">
        <table><thead><tr>${heads}</tr></thead><tbody>${lines}</tbody></table>
      </div>
    `;
  };

  const inline = (token: Token): Html => {
    switch (token.type) {
      case 'strong':
        return html`<strong>${inlines(token.tokens)}</strong>`;
      case 'em':
        return html`<em>${inlines(token.tokens)}</em>`;
      case 'codespan':
        return html`<code>${token.text}</code>`;
      case 'br':
        return html`<br>`;
      case 'link': {
        const href = resolve(token.href);
        const content = inlines(token.tokens);
        const rel = href?.startsWith('http') === true ? 'noreferrer' : null;
        return href === null ? html`${content}` : html`<a href="${href}"${attributes({ rel })}>${content}</a>`;
      }
      case 'image': {
        const src = resolve(token.href);
        return src === null ? html`${token.text}` : html`<img src="${src}" alt="${token.text}" loading="lazy">`;
      }
      case 'html':
        return html``;
      default:
        return html`${'tokens' in token && token.tokens !== undefined ? inlines(token.tokens) : textOf(token)}`;
    }
  };

  return html`${blocks(tokens)}`;
}

/** The lines, corners and dots of a drawing, whose lines must not be broken. */
const DRAWN = /[\u2500-\u257f\u25cf]/;

/** One heading of a page with the text below it, for the search. `anchor` is null and `depth` 0 before the first heading. */
export type DocumentSection = {
  readonly heading: string;
  readonly depth: number;
  readonly anchor: string | null;
  readonly pieces: readonly DocumentPiece[];
};

/** A piece that a search shows as a whole or cuts: a paragraph or an item of a list, a row of a table, a line of code. */
export type DocumentPiece = { readonly kind: 'prose' | 'row' | 'code'; readonly text: string };

export function sectionsOf(tokens: readonly Token[]): DocumentSection[] {
  const anchors = createAnchors();
  const sections: { heading: string; depth: number; anchor: string | null; pieces: DocumentPiece[] }[] = [];
  for (const token of tokens) {
    if (token.type === 'heading') {
      const { depth, text, tokens: inside } = token as Tokens.Heading;
      sections.push({ heading: lineOf(inside), depth, anchor: anchors(text), pieces: [] });
      continue;
    }
    const pieces = piecesOf(token);
    if (pieces.length === 0) continue;
    if (sections.length === 0) sections.push({ heading: '', depth: 0, anchor: null, pieces: [] });
    sections.at(-1)?.pieces.push(...pieces);
  }
  return sections;
}

/** Without comments and the heads of tables. */
function piecesOf(token: Token): DocumentPiece[] {
  switch (token.type) {
    case 'paragraph':
    case 'text':
      return pieceOf('prose', lineOf([token]));
    case 'code':
      return textOf(token)
        .split('\n')
        .flatMap((line) => pieceOf('code', line.trim()));
    case 'blockquote':
      return (token.tokens ?? []).flatMap(piecesOf);
    case 'list':
      return (token as Tokens.List).items.flatMap((item) => item.tokens.flatMap(piecesOf));
    case 'table':
      return (token as Tokens.Table).rows.flatMap((cells) => {
        const shown = cells.map((cell) => lineOf(cell.tokens)).filter((cell) => cell !== '');
        return pieceOf('row', shown.join(' – '));
      });
    default:
      return [];
  }
}

function pieceOf(kind: DocumentPiece['kind'], text: string): DocumentPiece[] {
  return text === '' ? [] : [{ kind, text }];
}

/** The words of inline tokens in one line. */
function lineOf(tokens: readonly Token[]): string {
  return wordsOf(tokens).replaceAll(/\s+/g, ' ').trim();
}

function wordsOf(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'image') return '';
      if (token.type === 'br' || token.type === 'html') return ' ';
      return 'tokens' in token && token.tokens !== undefined ? wordsOf(token.tokens) : textOf(token);
    })
    .join('');
}

function textOf(token: Token): string {
  return 'text' in token && typeof token.text === 'string' ? token.text : '';
}

/** Anchors as GitHub makes them from the source of a heading; a repeated one gets a number. */
function createAnchors(): (heading: string) => string {
  const used = new Map<string, number>();
  return (heading) => {
    const anchor = heading
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    const before = used.get(anchor) ?? 0;
    used.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  };
}
