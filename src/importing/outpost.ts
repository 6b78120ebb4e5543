/** Reads an export of Outpost: tenants with their destinations, and topics, as its API returns them. Pure. */

import { refuseField } from '../kernel/refusal.ts';
import { isObject } from '../kernel/validation.ts';
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
import { translateFilter } from './outpost-filter.ts';
import { type EndpointHeaders, headersOf, metadataOf, retryOf, urlProblem } from './record-fields.ts';
import { hostOf, shown } from './record-names.ts';
import { RENAME, type TypeNames, typeNames } from './type-names.ts';

const HEADER_PREFIX = 'x-outpost-';

/** Its default: 30 s, doubled ten times. */
const RETRY_DELAYS_SECONDS = Array.from({ length: 10 }, (_, n) => 30 * 2 ** n);

const LISTS = ['models', 'data'];

/** `user.*`, which is a pattern here too. */
const CATEGORY = /^[a-z][a-z0-9_-]{0,63}\.\*$/;

/** Throws a refusal that names the place if it is no such export. */
export function readOutpost(given: unknown, options: ImportOptions): Plan {
  if (!isObject(given) || given.tenants === undefined)
    throw refuseField('the export', 'must be an object with tenants and topics');
  const reader = exportReader();
  const topics = reader.list(given.topics, 'topics', LISTS);
  const tenants = reader.list(given.tenants, 'tenants', LISTS).map(([one, path]) => {
    const fields = isObject(one) ? one : {};
    return { fields, path, destinations: reader.list(fields.destinations, `${path}.destinations`, LISTS) };
  });
  // Without a list of topics in its settings, Outpost knows only the topics that destinations name.
  const named = tenants.flatMap(({ destinations }) => destinations.flatMap(([one, path]) => namedTopics(one, path)));
  const listed = new Map<unknown, string>([...named, ...topics]);
  const types = [...topics, ...[...listed].filter(([topic]) => !topics.some(([one]) => one === topic))];
  const known = types.flatMap(([topic]) => textOf(topic) ?? []);
  const names = typeNames(known, options);
  return planOf(
    types.map(([topic, path]) => eventTypeOf(topic, path, names)),
    tenants.map((tenant) => customerOf(tenant, { names, known, options })),
  );
}

/** The topics of a destination, without patterns, with their places. */
function namedTopics(given: unknown, path: string): readonly (readonly [topic: string, path: string])[] {
  const topics: readonly unknown[] = isObject(given) && Array.isArray(given.topics) ? given.topics : [];
  return topics.flatMap((topic, at) =>
    typeof topic === 'string' && !topic.includes('*') ? [[topic, `${path}.topics[${at}]`] as const] : [],
  );
}

type Tenant = {
  readonly fields: Fields;
  readonly path: string;
  readonly destinations: ReturnType<ExportReader['list']>;
};

type Context = { readonly names: TypeNames; readonly known: readonly string[]; readonly options: ImportOptions };

function eventTypeOf(given: unknown, path: string, names: TypeNames): PlannedEventType {
  const topic = textOf(given);
  const name = topic === null ? null : names.nameOf(topic);
  return {
    path,
    name: shown(name ?? topic ?? path),
    problem: topic === null ? 'is no text' : name === null ? RENAME : null,
    lost: [],
    body: { name },
  };
}

function customerOf({ fields, path, destinations }: Tenant, context: Context): PlannedCustomer {
  const externalId = textOf(fields.id);
  const { metadata, lost } = metadataOf(fields.metadata);
  return plannedCustomer({
    path,
    label: textOf(metadata.name),
    externalId,
    withoutId: 'has no id',
    metadata,
    lost,
    endpoints: destinations.map(([one, where]) => endpointOf(one, where, context)),
  });
}

function endpointOf(given: unknown, path: string, { names, known, options }: Context): PlannedEndpoint {
  const fields = isObject(given) ? given : {};
  const config = isObject(fields.config) ? fields.config : {};
  const credentials = isObject(fields.credentials) ? fields.credentials : {};
  const [id, url, secret] = [textOf(fields.id), textOf(config.url), textOf(credentials.secret)];
  const topics = topicsOf(fields.topics, known);
  const { patterns, problem, lost: lostTopics } = names.patternsOf(topics);
  const categories = textsOf(fields.topics).filter((topic) => CATEGORY.test(topic));
  const eventTypes = [...new Set([...categories, ...patterns])];
  const translated = translateFilter(fields.filter);
  const prefix = options.headerPrefix ?? HEADER_PREFIX;
  const sent = headersOfDestination(config.custom_headers, fields.delivery_metadata, prefix);
  const isEnabled = fields.disabled_at === null || fields.disabled_at === undefined;
  return plannedEndpoint({
    path,
    label: hostOf(url ?? ''),
    id,
    problem:
      (fields.type === 'webhook'
        ? null
        : `is of type ${typeShown(fields.type)}, and Sallyport delivers to HTTPS endpoints only`) ??
      urlProblem(url) ??
      (secret === null ? WITHOUT_SECRET : null) ??
      ('problem' in translated ? translated.problem : null) ??
      (eventTypes.length > 0 ? null : problem),
    lost: [
      ...lostTopics,
      ...sent.lost,
      ...(textOf(credentials.previous_secret) === null ? [] : ['its previous secret, which still signs there']),
      ...('filter' in translated && translated.filter !== null
        ? ['its filter on lists: here a value is compared with the whole member']
        : []),
      ...(isObject(fields.metadata) && Object.keys(fields.metadata).length > 0 ? ['its metadata'] : []),
    ],
    url,
    secret,
    isEnabled,
    headers: sent,
    webhook: {
      eventTypes,
      filter: 'filter' in translated ? translated.filter : null,
      ...signatureOf(prefix, secret ?? ''),
      retry: retryOf(options, RETRY_DELAYS_SECONDS),
    },
  });
}

/** Any JSON: an object may have a `toString` that is no function. */
function typeShown(type: unknown): string {
  return shown(typeof type === 'string' ? type : (JSON.stringify(type) ?? 'none'));
}

/** Null: all. A wildcard matches any run of characters. */
function topicsOf(given: unknown, known: readonly string[]): readonly string[] | null {
  const texts = typeof given === 'string' ? [given] : textsOf(given);
  if (texts.includes('*')) return null;
  return texts.flatMap((topic) => (topic.includes('*') ? known.filter((one) => matches(topic, one)) : [topic]));
}

/** The first and last parts must be at the ends. Each part between them is searched after the one before it. */
function matches(pattern: string, topic: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop() ?? '';
  if (!topic.startsWith(first) || topic.length < first.length + last.length || !topic.endsWith(last)) return false;
  const inner = topic.slice(first.length, topic.length - last.length);
  let at = 0;
  for (const part of rest) {
    const found = inner.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return true;
}

/** The customer's own headers, which are a JSON text, and the metadata that every request of the destination has as headers. */
function headersOfDestination(custom: unknown, deliveryMetadata: unknown, prefix: string): EndpointHeaders {
  const own = typeof custom === 'string' && custom !== '' ? parsed(custom) : custom;
  const added = isObject(deliveryMetadata) ? Object.entries(deliveryMetadata) : [];
  const given = {
    ...Object.fromEntries(added.map(([name, value]) => [`${prefix}${name}`, value])),
    ...(isObject(own) ? own : {}),
  };
  const headers = headersOf(given, []);
  if (custom === undefined || custom === null || custom === '' || isObject(own)) return headers;
  return { ...headers, lost: [...headers.lost, 'its custom_headers, which cannot be read'], isComplete: false };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** In its mode `default` the whole secret is the key, with `whsec_`. The prefix `webhook-` is that of its mode `standard`. */
function signatureOf(prefix: string, secret: string): Fields {
  if (prefix.toLowerCase() === 'webhook-') return { standardWebhooks: true };
  return {
    signature: {
      header: `${prefix}signature`,
      value: 'v0={signature}',
      content: '{body}',
      encoding: 'hex',
      key: secret.startsWith(STANDARD_SECRET_PREFIX) ? 'prefixed' : 'text',
      idHeader: `${prefix}event-id`,
    },
  };
}
