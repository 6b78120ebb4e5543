/**
 * Reads an export of Svix: applications with their endpoints, and event types, as its API returns them (`ApplicationOut`, `EndpointOut`,
 * `EndpointHeadersOut`, `EndpointSecretOut`, `EventTypeOut`). Pure.
 */

import { refuseField } from '../kernel/refusal.ts';
import { isObject } from '../kernel/validation.ts';
import { decodeStrictBase64 } from '../wire/bytes.ts';
import { STANDARD_SECRET_PREFIX } from '../wire/signature.ts';
import { type ExportReader, exportReader, type Fields, type ImportOptions, textOf, textsOf } from './export-reader.ts';
import {
  type Plan,
  type PlannedCustomer,
  type PlannedEndpoint,
  type PlannedEventType,
  plannedCustomer,
  plannedEndpoint,
  planOf,
  WITHOUT_SECRET,
} from './import-plan.ts';
import { headersOf, metadataOf, retryOf, urlProblem } from './record-fields.ts';
import { hostOf, shown } from './record-names.ts';
import { RENAME, type TypeNames, typeNames } from './type-names.ts';

const HEADER_PREFIX = 'svix-';

/** Its default schedule: after 5 s, 5 and 30 minutes, 2, 5, 10 and 10 hours. */
const RETRY_DELAYS_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 36_000];

/** As long as Svix's own server waits. */
const TIMEOUT_SECONDS = 30;

/** The maximum number of channels of a message. */
const CHANNELS_MAX = 10;

const LISTS = ['data'];
const DESCRIPTION_MAX_LENGTH = 1000;

/** Throws a refusal that names the place if it is no such export. */
export function readSvix(given: unknown, options: ImportOptions): Plan {
  if (!isObject(given) || (given.applications === undefined && given.eventTypes === undefined))
    throw refuseField('the export', 'must be an object with applications and eventTypes');
  const reader = exportReader();
  const types = reader.list(given.eventTypes, 'eventTypes', LISTS);
  const names = typeNames(
    types.flatMap(([one]) => (isObject(one) ? (textOf(one.name) ?? []) : [])),
    options,
  );
  const applications = reader.list(given.applications, 'applications', LISTS);
  return planOf(
    types.map(([one, path]) => eventTypeOf(one, path, names, options)),
    applications.map(([one, path]) => customerOf(one, path, names, options, reader)),
  );
}

function eventTypeOf(
  given: unknown,
  path: string,
  names: TypeNames,
  { withoutSchemas }: ImportOptions,
): PlannedEventType {
  const fields = isObject(given) ? given : {};
  const name = textOf(fields.name);
  const here = name === null ? null : names.nameOf(name);
  const description = textOf(fields.description) ?? '';
  const schema = latestSchema(fields.schemas);
  const hasFlags = textsOf(fields.featureFlags).length > 0 || textOf(fields.featureFlag) !== null;
  return {
    path,
    name: shown(here ?? name ?? path),
    problem: name === null ? 'has no name' : here === null ? RENAME : null,
    lost: [
      ...([...description].length > DESCRIPTION_MAX_LENGTH
        ? [`the description after ${DESCRIPTION_MAX_LENGTH} characters`]
        : []),
      ...(hasFlags ? ['its feature flags: every customer can subscribe to it'] : []),
      ...(schema.others > 0 ? [`${schema.others} earlier versions of its schema`] : []),
      ...(withoutSchemas && schema.latest !== null ? ['its schema'] : []),
    ],
    body: {
      name: here,
      description: [...description].slice(0, DESCRIPTION_MAX_LENGTH).join(''),
      dataSchema: withoutSchemas ? null : schema.latest,
      group: textOf(fields.groupName),
      deprecated: fields.deprecated === true || fields.archived === true,
    },
  };
}

/** The schema with the highest version. */
function latestSchema(schemas: unknown): { readonly latest: Fields | null; readonly others: number } {
  const versions = isObject(schemas) ? Object.entries(schemas).filter(([, schema]) => isObject(schema)) : [];
  const [last] = versions.sort(([one], [other]) => other.localeCompare(one, 'en', { numeric: true }));
  return { latest: (last?.[1] as Fields | undefined) ?? null, others: Math.max(0, versions.length - 1) };
}

function customerOf(
  given: unknown,
  path: string,
  names: TypeNames,
  options: ImportOptions,
  reader: ExportReader,
): PlannedCustomer {
  const fields = isObject(given) ? given : {};
  const externalId = textOf(fields.uid) ?? textOf(fields.id);
  const { metadata, lost } = metadataOf(fields.metadata);
  const endpoints = reader
    .list(fields.endpoints, `${path}.endpoints`, LISTS)
    .map(([one, where]) => endpointOf(one, where, names, options));
  const rate = fields.throttleRate ?? fields.rateLimit ?? null;
  return plannedCustomer({
    path,
    label: textOf(fields.name),
    externalId,
    withoutId: 'has neither uid nor id',
    metadata,
    lost: [...lost, ...(rate === null ? [] : ['its rate: give each webhook one with maxRecordsPerSecond'])],
    endpoints,
  });
}

function endpointOf(given: unknown, path: string, names: TypeNames, options: ImportOptions): PlannedEndpoint {
  const fields = isObject(given) ? given : {};
  const [id, url] = [textOf(fields.id), textOf(fields.url)];
  const secret = secretOf(fields.secret);
  const types = Array.isArray(fields.eventTypes ?? fields.filterTypes ?? null)
    ? textsOf(fields.eventTypes ?? fields.filterTypes)
    : null;
  const { patterns, problem, lost: lostTypes } = names.patternsOf(types);
  const channels = textsOf(fields.channels);
  const { headers, sensitive } = isObject(fields.headers) ? fields.headers : {};
  const sent = headersOf(isObject(headers) ? headers : {}, textsOf(sensitive));
  const isTransformed = isObject(fields.transformation) && fields.transformation.enabled === true;
  const rate = fields.throttleRate ?? fields.rateLimit;
  const hasMetadata = isObject(fields.metadata) && Object.keys(fields.metadata).length > 0;
  const prefix = options.headerPrefix ?? HEADER_PREFIX;
  return plannedEndpoint({
    path,
    label: textOf(fields.description) ?? hostOf(url ?? ''),
    id,
    problem:
      urlProblem(url) ??
      secret.problem ??
      (isTransformed ? 'has a transformation, which changes what its receiver gets' : problem),
    lost: [
      ...lostTypes,
      ...sent.lost,
      ...(hasMetadata ? ['its metadata'] : []),
      ...(channels.length > 0 ? [`its channels, unless events have them in ${options.channelsAt}`] : []),
    ],
    url,
    secret: secret.text,
    isEnabled: fields.disabled !== true,
    headers: sent,
    webhook: {
      eventTypes: patterns,
      filter: channelFilter(channels, options.channelsAt),
      ...signatureOf(prefix),
      maxRecordsPerSecond: typeof rate === 'number' && rate > 0 ? rate : null,
      retry: retryOf(options, RETRY_DELAYS_SECONDS),
      timeoutSeconds: TIMEOUT_SECONDS,
    },
  });
}

/** Svix's headers under another prefix, or Standard Webhooks', which are reserved for the setting of this name. */
function signatureOf(prefix: string): Fields {
  if (prefix.toLowerCase() === 'webhook-') return { standardWebhooks: true };
  return {
    signature: {
      header: `${prefix}signature`,
      value: 'v1,{signature}',
      content: '{id}.{timestamp}.{body}',
      encoding: 'base64',
      key: 'decoded',
      repeat: ' ',
      idHeader: `${prefix}id`,
      timestampHeader: `${prefix}timestamp`,
    },
  };
}

function secretOf(given: unknown): { readonly text: string; readonly problem: string | null } {
  const text = textOf(isObject(given) ? given.key : given) ?? '';
  if (text === '') return { text, problem: WITHOUT_SECRET };
  if (/^(?:whsk|whpk)/.test(text))
    return {
      text: '',
      problem: 'signs with a key pair, which cannot be imported: its receiver needs the new public key',
    };
  const plain = text.startsWith(STANDARD_SECRET_PREFIX) ? text.slice(STANDARD_SECRET_PREFIX.length) : text;
  const isKey = decodeStrictBase64(plain) !== null;
  return { text, problem: isKey ? null : 'has a secret that is not Base64 after whsec_' };
}

/** An endpoint with channels gets events that have one of them, and an endpoint without channels gets all. */
function channelFilter(channels: readonly string[], at: string): Fields | null {
  if (channels.length === 0) return null;
  const wanted = { $in: [...channels] };
  if (at === 'subject') return { subject: wanted };
  return { $or: Array.from({ length: CHANNELS_MAX }, (_, n) => ({ [`${at}.${n}`]: wanted })) };
}
