/**
 * TypeScript types of event data, from the JSON Schemas of event types. Pure. A type accepts every value that satisfies its schema. What
 * TypeScript cannot express, such as a pattern or a minimum, is left out. A reference that cannot be followed becomes `unknown`.
 */

import type { EventType } from '../domain/event.ts';
import { isObject } from '../kernel/validation.ts';
import { eventTypeKey } from '../wire/envelope.ts';

type Typed = Pick<EventType, 'name' | 'description' | 'deprecated' | 'dataSchema'>;

/** A module with a type for the data of each event type, and `Events`, which `createReceiver<Events>` of sallyport-receiver takes. */
export function typesModule(eventTypes: readonly Typed[]): string {
  const names = typeNames(eventTypes);
  const members = eventTypes.map(({ name }) => `  ${JSON.stringify(name)}: ${names.get(name)};\n`);
  const events =
    '/** The data of each event type, by its name. */\nexport type Events = ' +
    `${members.length === 0 ? '{}' : `{\n${members.join('')}}`};\n`;
  return [
    HEAD,
    ...eventTypes.map((eventType) => declarations(eventType, names.get(eventType.name) ?? '')),
    events,
  ].join('\n');
}

/** A module for only one event type, without a comment at its head. */
export function typeModule(eventType: Typed): string {
  return typesModule([eventType]).slice(HEAD.length).trim();
}

/** The declarations of only one event type: of its data first, then of the parts that its schema refers to. */
export function typeDeclarations(eventType: Typed): string {
  return declarations(eventType, typeNames([eventType]).get(eventType.name) ?? '');
}

const HEAD = `// The data of the events that webhooks deliver. A type takes every value that satisfies the schema of its event type.
`;

/** `order.created` → `OrderCreated`. Names that would be the same get a number. */
function typeNames(eventTypes: readonly Typed[]): ReadonlyMap<string, string> {
  const taken = new Set(['Events']);
  return new Map(eventTypes.map(({ name }) => [name, freeName(capital(eventTypeKey(name)), taken)]));
}

function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number += 1) name = `${wanted}${number}`;
  taken.add(name);
  return name;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** The parts of a schema that are written into one type. A schema that refers to itself could be written forever. */
const NODES_MAX = 2000;

type Schema = Readonly<Record<string, unknown>>;
type Writing = {
  readonly root: Schema;
  /** Whether references lead where their pointers say: a part with an address of its own changes that. */
  readonly follows: boolean;
  readonly isDraft07: boolean;
  readonly prefix: string;
  readonly taken: Set<string>;
  /** The names of parts that are types of their own, by reference. */
  readonly named: Map<string, string>;
  /** References whose parts are still to be written. */
  readonly waiting: string[];
  nodes: number;
};

function declarations(eventType: Typed, name: string): string {
  const { description, deprecated, dataSchema } = eventType;
  const about = [description, ...(deprecated ? ['@deprecated Do not subscribe to it any more.'] : [])];
  const head = comment(
    about.filter((line) => line !== ''),
    '',
  );
  const root = dataSchema ?? {};
  // Separated by an underscore, which no name of an event type has, so that parts cannot have the name of another type.
  const writing: Writing = {
    root,
    prefix: `${name}_`,
    taken: new Set<string>(),
    waiting: [],
    nodes: 0,
    named: new Map(root.type === 'object' ? [['#', name]] : []),
    follows: !holdsAddress(root, true),
    isDraft07: typeof root.$schema === 'string' && root.$schema.includes('draft-07'),
  };
  // Data is always an object, whether the schema says so or not.
  const type = typeOf('type' in root || '$ref' in root ? root : { ...root, type: 'object' }, within(writing, '#'));
  const texts = [`${head}export type ${name} = ${type === UNKNOWN ? OBJECT : type};\n`];
  for (let reference = writing.waiting.shift(); reference !== undefined; reference = writing.waiting.shift()) {
    const part = resolve(reference, writing);
    const text = typeOf(part, within(writing, reference));
    texts.push(`${commentOf(part, '')}export type ${writing.named.get(reference)} = ${text};\n`);
  }
  return texts.join('\n');
}

/** Where a part is written. `inside`: the references that it is within without a member or item between, which would be a circle. */
type Place = { readonly writing: Writing; readonly indent: string; readonly inside: ReadonlySet<string> };

function within(writing: Writing, reference: string): Place {
  return { writing, indent: '', inside: new Set([reference]) };
}

const OBJECT = '{ readonly [member: string]: unknown }';
const UNKNOWN = 'unknown';

/** The type of the values that satisfy a schema. */
function typeOf(schema: unknown, at: Place): string {
  if (schema === false) return 'never';
  at.writing.nodes += 1;
  if (!isObject(schema) || at.writing.nodes > NODES_MAX) return UNKNOWN;
  const parts = [
    ...referenced(schema, at),
    // Draft-07 ignores keywords beside a reference.
    ...(at.writing.isDraft07 && '$ref' in schema ? [] : [ownType(schema, at), ...combined(schema, at)]),
  ];
  const type = intersection(parts);
  // An extension of the validator that OpenAPI 3.0 has too.
  return schema.nullable === true && type !== UNKNOWN ? union([type, 'null']) : type;
}

function referenced({ $ref: reference }: Schema, at: Place): string[] {
  const { writing, inside } = at;
  if (typeof reference !== 'string') return [];
  const part = writing.follows ? resolve(reference, writing) : undefined;
  if (part === undefined || inside.has(reference)) return [UNKNOWN];
  // Written here: the root of many schemas is a reference, and a name would say nothing.
  return [typeOf(part, { ...at, inside: new Set([...inside, reference]) })];
}

/** A part within a member or an item. References become names there, so that schemas may refer to themselves. */
function innerType(schema: unknown, { writing, indent }: Place): string {
  const at: Place = { writing, indent, inside: new Set() };
  if (!isObject(schema) || typeof schema.$ref !== 'string') return typeOf(schema, at);
  const { $ref: reference, ...beside } = schema;
  const isKnown = writing.follows && resolve(reference, writing) !== undefined;
  return intersection([
    isKnown ? partName(reference, writing) : UNKNOWN,
    writing.isDraft07 ? UNKNOWN : typeOf(beside, at),
  ]);
}

function partName(reference: string, { named, taken, waiting, prefix }: Writing): string {
  const known = named.get(reference);
  if (known !== undefined) return known;
  const word = (reference.split('/').at(-1) ?? '').replace(/[^A-Za-z0-9]+(.?)/g, (_, next: string) =>
    next.toUpperCase(),
  );
  const name = freeName(prefix + (capital(word) || 'Data'), taken);
  named.set(reference, name);
  waiting.push(reference);
  return name;
}

/** By `const`, `enum` and `type`. */
function ownType(schema: Schema, at: Place): string {
  if ('const' in schema) return literal(schema.const);
  if (Array.isArray(schema.enum)) return union(schema.enum.map(literal));
  const { type } = schema;
  if (typeof type === 'string') return typeNamed(type, schema, at);
  return Array.isArray(type) ? union(type.map((one) => typeNamed(String(one), schema, at))) : UNKNOWN;
}

function typeNamed(type: string, schema: Schema, at: Place): string {
  switch (type) {
    case 'object':
      return objectType(schema, at);
    case 'array':
      return arrayType(schema, at);
    case 'integer':
      return 'number';
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return type;
    default:
      return UNKNOWN;
  }
}

function objectType(schema: Schema, at: Place): string {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const listed = Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === 'string') : [];
  const required = new Set<string>(listed);
  const names = [...new Set([...Object.keys(properties), ...required])];
  const within = { ...at, indent: `${at.indent}  ` };
  const members = names.map((name) => {
    const about = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const type = about === undefined ? UNKNOWN : innerType(about, within);
    return `${commentOf(about, within.indent)}${within.indent}readonly ${keyOf(name)}${required.has(name) ? '' : '?'}: ${type};\n`;
  });
  const more = moreMembers(schema, names, required.size > 0, within);
  if (more !== null) members.push(`${within.indent}readonly [member: string]: ${more};\n`);
  if (members.length === 0) return '{ readonly [member: string]: never }';
  return `{\n${members.join('')}${at.indent}}`;
}

/** The type of unnamed members; null for none. Beside named members it must accept their types too. */
function moreMembers(schema: Schema, names: readonly string[], isRequiring: boolean, at: Place): string | null {
  const { additionalProperties: others = true, patternProperties: patterns } = schema;
  const isPatterned = isObject(patterns) && Object.keys(patterns).length > 0;
  if (names.length > 0) {
    if (others === false && !isPatterned) return null;
    // TypeScript takes members that a type does not name, but not if it requires none (a weak type).
    return isRequiring && others === true && !isPatterned ? null : UNKNOWN;
  }
  const types = [
    ...(others === false ? [] : [innerType(others, at)]),
    ...(isPatterned ? Object.values(patterns).map((one) => innerType(one, at)) : []),
  ];
  return types.length === 0 ? null : union(types);
}

function arrayType(schema: Schema, at: Place): string {
  const { items, minItems } = schema;
  const prefixItems = at.writing.isDraft07 ? undefined : schema.prefixItems;
  const leading: unknown = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  const first = leading as readonly unknown[];
  const others = Array.isArray(items) ? schema.additionalItems : items;
  if (first.length === 0) return `readonly ${grouped(others === undefined ? UNKNOWN : innerType(others, at))}[]`;
  const least = typeof minItems === 'number' ? minItems : 0;
  const members = first.map((one, n) => `${grouped(innerType(one, at))}${n < least ? '' : '?'}`);
  const rest = others === false ? [] : [`...${grouped(others === undefined ? UNKNOWN : innerType(others, at))}[]`];
  return `readonly [${[...members, ...rest].join(', ')}]`;
}

function combined(schema: Schema, at: Place): string[] {
  const { allOf, anyOf, oneOf } = schema;
  const types = (list: unknown): string[] => (Array.isArray(list) ? list.map((one) => typeOf(one, at)) : []);
  return [...types(allOf), ...[anyOf, oneOf].filter(Array.isArray).map((list) => union(types(list)))];
}

function intersection(types: readonly string[]): string {
  const saying = [...new Set(types)].filter((type) => type !== UNKNOWN && type !== '');
  if (saying.length <= 1) return saying[0] ?? UNKNOWN;
  return saying.map(grouped).join(' & ');
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)];
  if (distinct.includes(UNKNOWN)) return UNKNOWN;
  return distinct.length === 0
    ? 'never'
    : distinct.map((type) => (distinct.length === 1 ? type : grouped(type))).join(' | ');
}

/** In parentheses if it is made of several types. */
function grouped(type: string): string {
  return /^(?:[\w$]+|"(?:[^"\\]|\\.)*"|-?[\d.e+-]+)$/.test(type) || isBraced(type) ? type : `(${type})`;
}

/** Whether the first brace is closed by the last one. */
function isBraced(type: string): boolean {
  // Without texts and comments, which may have braces.
  const signs = type.replace(/"(?:[^"\\]|\\.)*"|\/\*[\s\S]*?\*\//g, '');
  if (!signs.startsWith('{')) return false;
  let depth = 0;
  for (let at = 0; at < signs.length; at += 1) {
    depth += signs[at] === '{' ? 1 : signs[at] === '}' ? -1 : 0;
    if (depth === 0) return at === signs.length - 1;
  }
  return false;
}

function literal(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? UNKNOWN;
  if (Array.isArray(value)) return `readonly [${value.map(literal).join(', ')}]`;
  const members = Object.entries(value).map(([name, one]) => `readonly ${keyOf(name)}: ${literal(one)}`);
  return members.length === 0 ? '{ readonly [member: string]: never }' : `{ ${members.join('; ')} }`;
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function commentOf(schema: unknown, indent: string): string {
  if (!isObject(schema)) return '';
  const about = typeof schema.description === 'string' ? [schema.description] : [];
  return comment([...about, ...(schema.deprecated === true ? ['@deprecated'] : [])], indent);
}

function comment(lines: readonly string[], indent: string): string {
  const all = lines.flatMap((line) => line.replaceAll('*/', '*\\/').split(/[\r\n\u2028\u2029]+/));
  if (all.length === 0) return '';
  if (all.length === 1) return `${indent}/** ${all[0]} */\n`;
  return `${indent}/**\n${all.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}

/** Whether a part other than the root has an address, against which references below it are read. */
function holdsAddress(value: unknown, isRoot = false): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (!isRoot && isObject(value) && typeof value.$id === 'string') return true;
  return Object.values(value).some((one) => holdsAddress(one));
}

/** The part that a JSON Pointer (RFC 6901) names; undefined for any other reference. */
function resolve(reference: string, { root }: Writing): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let within: unknown = root;
  for (const step of reference.split('/').slice(1)) {
    const name = unescaped(step);
    if (name === null || within === null || typeof within !== 'object' || !Object.hasOwn(within, name))
      return undefined;
    within = (within as Schema)[name];
  }
  return within;
}

function unescaped(step: string): string | null {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return null;
  }
}
