/** Documents that are made once and sent often: with an entity tag, and 304 for a client that has the current one. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Call, Reply, Route } from './route.ts';

export type Rendered = { readonly text: string; readonly etag: string };

export function render(document: unknown): Rendered {
  return renderText(JSON.stringify(document));
}

export function renderText(text: string): Rendered {
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` };
}

const HEADERS = { ETag: 'Of this version of the document.', 'Cache-Control': 'How long it may be kept.' };

/** For the route of a document. */
export const DOCUMENT_HEADERS: NonNullable<Route['headers']> = {
  'If-None-Match': { schema: z.string(), description: 'The `ETag` of the copy at hand.' },
};

/** The replies of the route of a document with this schema; JSON, unless it has another media type. */
export function documentReplies(schema: z.ZodType, mediaType?: string): Route['replies'] {
  return {
    200: { description: 'The document', schema, headers: HEADERS, ...(mediaType !== undefined && { mediaType }) },
    304: { description: 'Your copy is the current document', headers: HEADERS },
  };
}

/** `cacheControl`: the value of that header. `mediaType`: of a text other than JSON. */
export function documentReply(
  { request }: Call,
  { text, etag }: Rendered,
  cacheControl: string,
  mediaType?: string,
): Reply {
  const type = mediaType === undefined ? {} : { 'Content-Type': `${mediaType};charset=UTF-8` };
  const headers = { ...type, ETag: etag, 'Cache-Control': cacheControl };
  if (!matches(request.headers['if-none-match'], etag)) return { status: 200, headers, body: text };
  // RFC 9110 §8.6: the Content-Length of a 304 is that of the 200.
  return { status: 304, headers: { ...headers, 'Content-Length': String(Buffer.byteLength(text)) } };
}

/** RFC 9110 §13.1.2: any of the tags, with weak comparison. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.includes(etag) || tags.includes('*');
}
