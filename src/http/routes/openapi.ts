/** `GET /services/api/openapi.json`: the OpenAPI document (contract §4). */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { BUILT_IN_PRODUCTS } from '../../access/built-in.ts';
import { openApiDocument } from '../openapi.ts';
import type { Reply, Route } from '../route.ts';

export const OPENAPI_PATH = '/services/api/openapi.json';

const anyDocument = z
  .looseObject({ openapi: z.string(), info: z.looseObject({ title: z.string(), version: z.string() }) })
  .meta({ id: 'OpenApiDocument', description: 'An OpenAPI document (https://spec.openapis.org/oas/v3.1.0).' });

type Dependencies = {
  /** The other documented routes. */
  readonly routes: readonly Route[];
  /** The configured public address, or the listening address. May throw before the server listens. */
  readonly publicUrl: () => string;
};

export function openApiRoutes({ routes, publicUrl }: Dependencies): Route[] {
  const render = (url: string): Rendered => {
    const document = openApiDocument({ routes: [...routes, route], publicUrl: url, products: BUILT_IN_PRODUCTS });
    const text = JSON.stringify(document);
    return { url, text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` };
  };
  let rendered: Rendered | null = null;

  const route: Route = {
    method: 'GET',
    path: OPENAPI_PATH,
    access: 'open',
    tag: 'operation',
    operationId: 'getOpenApiDocument',
    summary: 'This description of the API',
    headers: { 'If-None-Match': { schema: z.string(), description: 'The `ETag` of the copy at hand.' } },
    replies: {
      200: { description: 'The document', schema: anyDocument, headers: CACHE_HEADERS },
      304: { description: 'The copy at hand is the document', headers: CACHE_HEADERS },
      503: { description: 'The address that clients see is not known' },
    },
    respond: async ({ request }) => {
      const url = publicUrl().replace(/\/$/, '');
      if (rendered?.url !== url) rendered = render(url);
      return reply(rendered, request.headers['if-none-match']);
    },
  };
  return [route];
}

type Rendered = { readonly url: string; readonly text: string; readonly etag: string };

const CACHE_HEADERS = { ETag: 'Of this version of the document.', 'Cache-Control': 'How long it may be kept.' };

function reply({ text, etag }: Rendered, ifNoneMatch: string | undefined): Reply {
  const headers = { ETag: etag, 'Cache-Control': 'public, max-age=300' };
  if (!matches(ifNoneMatch, etag)) return { status: 200, headers, body: text };
  // RFC 9110 §8.6: the Content-Length of a 304 is that of the 200.
  return { status: 304, headers: { ...headers, 'Content-Length': String(Buffer.byteLength(text)) } };
}

/** RFC 9110 §13.1.2: any of the tags, with weak comparison. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.includes(etag) || tags.includes('*');
}
