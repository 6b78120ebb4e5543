/** Conditional requests (RFC 9110 §13, contract §4.3): `If-Match` before a change, `If-None-Match` before a read. */
import { z } from 'zod';
import { actingOf } from '../access/callers.ts';
import type { Acting, IfMatch } from '../domain/acting.ts';
import { refuseField } from '../kernel/refusal.ts';
import { contentTag, entityTag, parseEntityTags, refuseChanged } from '../resources/entity-tag.ts';
import { allHeaders } from './request.ts';
import { type Call, type Reply, type ReplyDescription, type Route, requireCaller } from './route.ts';

const LIST = /^(?:\*|(?:W\/)?"[!#-~]*"(?:, ?(?:W\/)?"[!#-~]*")*)$/;

/** For `Route.headers` of a change. */
export const IF_MATCH: NonNullable<Route['headers']> = {
  'If-Match': {
    description:
      'Makes the change only if the resource still has one of these `ETag`s; otherwise 412 ' +
      '`precondition_failed`, and nothing changes. `*` is any.',
    schema: z.string().regex(LIST),
  },
};
/** For `Route.headers` of a read. */
export const IF_NONE_MATCH: NonNullable<Route['headers']> = {
  'If-None-Match': {
    description: 'The `ETag` of the copy at hand: 304 where it is up to date.',
    schema: z.string().regex(LIST),
  },
};
/** For the headers of a reply. */
export const ETAG: NonNullable<ReplyDescription['headers']> = {
  ETag: 'A strong entity tag of the resource, for `If-Match` and `If-None-Match`.',
};
export const NOT_MODIFIED: Route['replies'] = {
  304: { description: 'Your copy is up to date', headers: ETAG },
};

/** The actor, with the tags of `If-Match`. Throws 400 for a malformed `If-Match`. */
export function actingOn(call: Call): Acting {
  return { ...actingOf(requireCaller(call)), ifMatch: readIfMatch(call) };
}

/** Throws 400 for a malformed `If-Match`. */
export function readIfMatch(call: Call): IfMatch | undefined {
  const tags = readTags(call, 'If-Match');
  return typeof tags === 'string' ? tags : tags?.filter((tag) => !tag.startsWith('W/'));
}

/** Checks `If-Match` before an action that does not change the row of the resource itself. */
export function requireMatch(call: Call, representation: unknown, title: string): void {
  refuseChanged(readIfMatch(call), representation, title);
}

/** The resource, or 304 if the caller has the current version. */
export function read(call: Call, body: unknown, ETag: string = entityTag(body)): Reply {
  if (!hasCurrent(call, ETag)) return { status: 200, headers: { ETag }, body };
  // RFC 9110 §8.6: the Content-Length of a 304 is that of the 200.
  return { status: 304, headers: { ETag, 'Content-Length': String(Buffer.byteLength(JSON.stringify(body))) } };
}

/** The same for a resource that is ready as bytes. A body that is encrypted again has another tag. */
export function readBytes(call: Call, bytes: Uint8Array, headers: Readonly<Record<string, string>>): Reply {
  const ETag = contentTag(bytes);
  if (!hasCurrent(call, ETag)) return { status: 200, headers: { ...headers, ETag }, body: bytes };
  return { status: 304, headers: { ...headers, ETag, 'Content-Length': String(bytes.byteLength) } };
}

/** RFC 9110 §13.1.2: weak comparison. */
function hasCurrent(call: Call, ETag: string): boolean {
  const tags = readTags(call, 'If-None-Match');
  return tags === '*' || tags?.some((tag) => tag.replace(/^W\//, '') === ETag) === true;
}

/** A new or changed resource as a read returns it, and secrets that are shown only once. */
export type ShownResource = { readonly shown: object; readonly secrets?: object };

/** The reply to a change. */
export function changed({ shown, secrets }: ShownResource, ETag: string = entityTag(shown)): Reply {
  return { status: 200, headers: { ETag }, body: { ...shown, ...secrets } };
}

function readTags({ request }: Call, header: string): '*' | readonly string[] | undefined {
  const values = allHeaders(request, header.toLowerCase());
  if (values.length === 0) return undefined;
  const text = values.join(',').trim();
  const tags = text === '*' ? '*' : parseEntityTags(text);
  if (tags === null) throw refuseField(header, 'must be * or a list of entity tags in double quotes, such as "abc"');
  return tags;
}
