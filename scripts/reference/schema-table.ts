/** Writes JSON Schemas as tables and short phrases. */

export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
};

/** A table of an object's members. Members of nested objects have their path as the name. */
export function membersTable(schema: Schema): string {
  const rows = membersOf(schema, '');
  if (rows.length === 0) return '';
  return ['| field | type | |', '|---|---|---|', ...rows].join('\n').concat('\n');
}

/** A phrase such as `string (uuid)`, `list of string`, or a link to another schema, with bounds. */
export function phraseOf(schema: Schema): string {
  if (schema.$ref !== undefined) return linkTo(schema.$ref);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return unique(choices.map(phraseOf)).join(' or ');
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum !== undefined) return unique(schema.enum.map(code)).join(', ');
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  const names = types.map((type) => (type === 'array' ? `list of ${phraseOf(schema.items ?? {})}` : type));
  const phrase = names.length === 0 ? 'any' : names.join(' or ');
  const bounds = boundsOf(schema);
  return bounds.length === 0 ? phrase : `${phrase} (${bounds.join(', ')})`;
}

function membersOf({ properties = {}, required = [] }: Schema, prefix: string): string[] {
  return Object.entries(properties).flatMap(([name, member]) => {
    const path = `${prefix}${name}`;
    const optional = required.includes(name) ? '' : '*optional*';
    const prose = [optional, member.description ?? ''].filter((part) => part !== '').join(' ');
    const inside = nestedOf(member);
    return [
      `| \`${path}\` | ${cell(phraseOf(member))} | ${cell(prose)} |`,
      ...inside.flatMap(({ schema, suffix }) => membersOf(schema, `${path}${suffix}.`)),
    ];
  });
}

/** The nested objects of a member, without the ones that it refers to by `$ref`. */
function nestedOf(schema: Schema): { readonly schema: Schema; readonly suffix: string }[] {
  if (schema.$ref !== undefined) return [];
  if (schema.properties !== undefined) return [{ schema, suffix: '' }];
  if (schema.items !== undefined)
    return nestedOf(schema.items).map((item) => ({ ...item, suffix: `[]${item.suffix}` }));
  return (schema.anyOf ?? schema.oneOf ?? []).flatMap(nestedOf);
}

function boundsOf(schema: Schema): string[] {
  const { format, minimum, maximum, exclusiveMinimum, minLength, maxLength, minItems, maxItems, pattern } = schema;
  return [
    ...(format === undefined ? [] : [format]),
    ...rangeOf(exclusiveMinimum === undefined ? minimum : `over ${exclusiveMinimum}`, safe(maximum), ''),
    ...rangeOf(minLength, maxLength, ' characters'),
    ...rangeOf(minItems, maxItems, ' items'),
    ...(pattern === undefined || format !== undefined ? [] : [code(pattern)]),
  ];
}

/** Omits the largest safe integer, which is not a bound of the product. */
function safe(maximum: number | undefined): number | undefined {
  return maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
}

function rangeOf(from: number | string | undefined, to: number | undefined, unit: string): string[] {
  if (from === undefined && to === undefined) return [];
  if (from === to) return [`${from}${unit}`];
  if (to === undefined) return [typeof from === 'string' ? `${from}${unit}` : `at least ${from}${unit}`];
  return from === undefined ? [`at most ${to}${unit}`] : [`${from}–${to}${unit}`];
}

function linkTo($ref: string): string {
  const name = $ref.split('/').at(-1) ?? '';
  return `[${name}](#${name.toLowerCase()})`;
}

function code(value: unknown): string {
  return `\`${JSON.stringify(value)?.replace(/^"(.*)"$/, '$1')}\``;
}

/** A cell of a Markdown table: one line, with escaped bars. */
function cell(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
