/** Scripts and styles. The path of each holds the hash of its content, so browsers cache it permanently. Each is compressed once. */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Route } from '../../http/route.ts';
import { type AssetName, readAsset } from '../../kernel/assets.ts';
import { accepts } from './headers.ts';

export type AssetUrls = {
  readonly style: string;
  readonly script: string;
  readonly chartStyle: string;
  readonly chartScript: string;
};

type Bundle = { readonly name: string; readonly type: string; readonly parts: readonly AssetName[] };

/** The assets that pages load, each joined from files in this order. */
const BUNDLES: { readonly [Key in keyof AssetUrls]: Bundle } = {
  style: {
    name: 'portal.css',
    type: 'text/css',
    parts: [
      'portal/tokens.css',
      'portal/base.css',
      'portal/layout.css',
      'portal/forms.css',
      'portal/parts.css',
      'portal/lists.css',
      'portal/webhooks.css',
      'portal/deliveries.css',
      'portal/search.css',
      'portal/documentation.css',
      'portal/customers.css',
    ],
  },
  script: {
    name: 'portal.js',
    type: 'text/javascript',
    parts: [
      'htmx.licence',
      'htmx.js',
      'htmx-sse.js',
      'portal/behaviour.js',
      'portal/failures.js',
      'portal/passkeys.js',
      'portal/suggestions.js',
      'portal/combobox.js',
      'portal/forms.js',
      'portal/choices.js',
      'portal/filter.js',
      'portal/filter-rows.js',
      'portal/search.js',
      'portal/recent.js',
      'portal/live.js',
      'portal/panel.js',
      'portal/frame.js',
    ],
  },
  chartStyle: { name: 'chart.css', type: 'text/css', parts: ['uplot.css'] },
  chartScript: { name: 'chart.js', type: 'text/javascript', parts: ['uplot.licence', 'uplot.js', 'portal/chart.js'] },
};

type Assets = { readonly urls: AssetUrls; readonly routes: readonly Route[] };

export function createAssets(): Assets {
  const made = Object.entries(BUNDLES).map(([key, bundle]) => {
    const text = bundle.parts.map(partText).join('\n');
    const path = `/assets/${hash('sha256', text).slice(0, 16)}/${bundle.name}`;
    return { key, path, route: bundleRoute(path, bundle, text) };
  });
  return {
    urls: Object.fromEntries(made.map(({ key, path }) => [key, path])) as AssetUrls,
    routes: made.map(({ route }) => route),
  };
}

/** A licence comes before its library. */
function partText(name: AssetName): string {
  const text = readAsset(name);
  return name.endsWith('.licence') ? `/*!\n${text.trim()}\n*/` : text;
}

function bundleRoute(path: string, { type }: Bundle, text: string): Route {
  const packed = createPacking(text);
  return assetRoute(path, async ({ request }) => {
    const { coding, bytes } = await packed(request);
    const headers = {
      'Content-Type': `${type};charset=UTF-8`,
      'Cache-Control': 'public, max-age=31536000, immutable',
      'Cross-Origin-Resource-Policy': 'same-origin',
      Vary: 'Accept-Encoding',
      ...(coding !== null && { 'Content-Encoding': coding }),
    };
    return { status: 200, headers, body: bytes };
  });
}

/** A file that pages of everyone load. */
export function assetRoute(path: string, respond: Route['respond']): Route {
  return {
    for: 'anyone',
    method: 'GET',
    path,
    access: 'open',
    tag: 'portal',
    summary: path,
    freeQuery: true,
    replies: {},
    respond,
  };
}

type Packed = { readonly coding: 'br' | 'gzip' | null; readonly bytes: Uint8Array };

/** Each encoding is made at the first request for it, and kept. */
function createPacking(text: string): (request: IncomingMessage) => Promise<Packed> {
  const plain = Buffer.from(text);
  const made = new Map<'br' | 'gzip', Promise<Buffer>>();
  return async ({ headers }) => {
    const coding = CODINGS.find((name) => accepts(headers, name)) ?? null;
    if (coding === null) return { coding, bytes: plain };
    const bytes = made.get(coding) ?? (coding === 'br' ? brotli(plain, BROTLI) : gzipped(plain, { level: 9 }));
    made.set(coding, bytes);
    return { coding, bytes: await bytes };
  };
}

const CODINGS = ['br', 'gzip'] as const;
const brotli = promisify(brotliCompress);
const gzipped = promisify(gzip);
/** The highest quality would save a tenth of the bytes but delay the first page after a start by 0.2 s. */
const BROTLI = {
  params: { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT, [constants.BROTLI_PARAM_QUALITY]: 5 },
};
