/**
 * The paths that a filter can look at (contract §7.1), from the schemas and samples of event types, for completion in an editor.
 * Pure. Both may be large and schemas may refer to themselves, so paths, their steps and the work are bounded.
 */

import type { EventType } from '../domain/event.ts';
import { FILTER_STEPS } from '../domain/filter.ts';
import { isObject } from '../kernel/validation.ts';

/** The most that a filter editor offers: paths, values of each, and the length of their JSON. */
export const FILTER_PATHS = 500;
const FILTER_PATH_VALUES = 10;
const FILTER_VALUE_LENGTH = 100;

export type FilterPath = {
  readonly path: string;
  /** Types of JSON Schema, such as `string`. Empty if unknown. */
  readonly types: readonly string[];
  readonly description: string | null;
  /** Values that it may have: of enumerations and samples. */
  readonly values: readonly unknown[];
};

type Described = Pick<EventType, 'name' | 'dataSchema' | 'sample'>;

/** `samples`: the data of further events, for example of the latest ones. */
export function filterPaths(eventTypes: readonly Described[], samples: readonly unknown[] = []): FilterPath[] {
  const found: Found = { paths: new Map(), nodes: 0 };
  for (const { dataSchema } of eventTypes) {
    if (dataSchema !== null) addSchema(found, dataSchema);
  }
  for (const data of [...eventTypes.map(({ sample }) => sample), ...samples]) addSample(found, data, 'data', 0);
  const own = [...found.paths].filter(([path]) => path !== 'data').map(([path, about]) => shown(path, about));
  const names = eventTypes.map(({ name }) => name);
  return [
    { path: 'type', types: ['string'], description: 'The event type.', values: names.slice(0, FILTER_PATH_VALUES) },
    { path: 'subject', types: ['string', 'null'], description: 'Whom the event is about.', values: [] },
    ...own.sort((a, b) => (a.path < b.path ? -1 : 1)),
  ];
}

type About = {
  readonly types: Set<string>;
  readonly values: Map<string, unknown>;
  /** Schemas that were looked at here, so that circles end. */
  readonly schemas: Set<object>;
  description: string | null;
};
type Found = { readonly paths: Map<string, About>; nodes: number };

function shown(path: string, { types, values, description }: About): FilterPath {
  return { path, types: [...types].sort(), description, values: [...values.values()] };
}

/** Null for a path too many, and one that no filter can name. */
function at({ paths }: Found, path: string, depth: number): About | null {
  const existing = paths.get(path);
  if (existing !== undefined) return existing;
  if (depth > FILTER_STEPS || paths.size >= FILTER_PATHS) return null;
  const about: About = { types: new Set(), values: new Map(), schemas: new Set(), description: null };
  paths.set(path, about);
  return about;
}

/** A name with a dot would be two steps. */
function member(path: string, name: string): string | null {
  return name === '' || name.includes('.') ? null : `${path}.${name}`;
}

function addValue({ values }: About, value: unknown): void {
  if (value !== null && typeof value === 'object') return;
  const text = JSON.stringify(value);
  if (text.length <= FILTER_VALUE_LENGTH && values.size < FILTER_PATH_VALUES) values.set(text, value);
}

function addSample(found: Found, value: unknown, path: string, depth: number): void {
  const about = at(found, path, depth);
  if (about === null) return;
  about.types.add(typeName(value));
  addValue(about, value);
  if (Array.isArray(value)) {
    if (value.length > 0) addSample(found, value[0], `${path}.0`, depth + 1);
  } else if (isObject(value)) {
    for (const [name, one] of Object.entries(value)) {
      const within = member(path, name);
      if (within !== null) addSample(found, one, within, depth + 1);
    }
  }
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

type Place = { readonly path: string; readonly depth: number };

/** Schemas looked at for all event types, references included. */
const NODES_MAX = 5000;

/**
 * In a queue, not by recursion: references may lead to references as often as a schema has room for, which is more than the stack holds.
 */
function addSchema(found: Found, root: object): void {
  const queue: { readonly schema: unknown; readonly place: Place }[] = [
    { schema: root, place: { path: 'data', depth: 0 } },
  ];
  for (const { schema, place } of queue) {
    found.nodes += 1;
    if (found.nodes > NODES_MAX) return;
    const about = at(found, place.path, place.depth);
    if (about === null || !isObject(schema) || about.schemas.has(schema)) continue;
    about.schemas.add(schema);
    describe(about, schema);
    for (const part of partsOf(schema, root)) queue.push({ schema: part, place });
    queue.push(...membersOf(schema, place));
  }
}

function describe(about: About, schema: Readonly<Record<string, unknown>>): void {
  const { type, description } = schema;
  for (const one of Array.isArray(type) ? type : [type]) {
    if (typeof one === 'string') about.types.add(one === 'integer' ? 'number' : one);
  }
  if (typeof description === 'string') about.description ??= description;
  for (const values of [schema.enum, 'const' in schema ? [schema.const] : [], schema.examples, [schema.default]]) {
    if (Array.isArray(values)) for (const value of values) if (value !== undefined) addValue(about, value);
  }
}

/** Schemas that hold for the same value. */
function partsOf(schema: Readonly<Record<string, unknown>>, root: object): unknown[] {
  const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((keyword) =>
    Array.isArray(schema[keyword]) ? schema[keyword] : [],
  );
  return typeof schema.$ref === 'string' ? [...parts, resolve(schema.$ref, root)] : parts;
}

function membersOf(schema: Readonly<Record<string, unknown>>, place: Place): { schema: unknown; place: Place }[] {
  const { properties, items, prefixItems } = schema;
  const depth = place.depth + 1;
  const members = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, one]) => {
    const path = member(place.path, name);
    return path === null ? [] : [{ schema: one, place: { path, depth } }];
  });
  const first: unknown = Array.isArray(prefixItems) ? prefixItems[0] : Array.isArray(items) ? items[0] : items;
  return isObject(first) ? [...members, { schema: first, place: { path: `${place.path}.0`, depth } }] : members;
}

/** The part of the schema that a JSON Pointer (RFC 6901) in a reference names. References elsewhere are left out. */
function resolve(reference: string, root: unknown): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return null;
  const names = reference.split('/').slice(1);
  return names.reduce((within: unknown, name) => {
    const key = decoded(name).replaceAll('~1', '/').replaceAll('~0', '~');
    const isMember = within !== null && typeof within === 'object' && Object.hasOwn(within, key);
    return isMember ? (within as Readonly<Record<string, unknown>>)[key] : null;
  }, root);
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
