/** The page of the HTTP API: every operation of the OpenAPI document, and every schema, for people. */
import { refusalCodes } from './refusal-codes.ts';
import { membersTable, phraseOf, type Schema } from './schema-table.ts';

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

type Response = { readonly $ref?: string; readonly description?: string; readonly content?: Content };

type Parameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
  readonly schema: Schema;
};

type Operation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
  readonly 'x-any-method'?: boolean;
};

/** What is read here of an OpenAPI 3.1 document. */
export type ApiDocument = {
  readonly info: { readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Response>>;
  };
};

export function httpApiPage(document: ApiDocument): string {
  const { info, tags, components } = document;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const groups = tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags[0] === name);
    const texts = own.map(({ path, method, operation }) =>
      operationText(path, method, operation, components.responses),
    );
    return [`## ${name}\n`, `${description}\n`, ...texts].join('\n');
  });
  const schemas = Object.entries(components.schemas).map(([name, schema]) => schemaText(name, schema));
  return [
    '# The HTTP API\n',
    'Made by `npm run reference` from what `GET /services/api/openapi.json` answers.\n',
    `${info.description}\n`,
    ...groups,
    refusalCodes(),
    '## Schemas\n',
    ...schemas,
  ].join('\n');
}

function operationText(
  path: string,
  method: string,
  { operationId, summary, description, parameters = [], requestBody, responses, ...operation }: Operation,
  shared: ApiDocument['components']['responses'],
): string {
  const verb = operation['x-any-method'] === true ? 'ANY' : method.toUpperCase();
  const asked = parameters.filter((parameter) => parameter.in !== 'path');
  return [
    `### ${operationId}\n`,
    `\`${verb} ${path}\`\n`,
    `${[summary.replace(/\.?$/, '.'), description].filter(Boolean).join(' ')}\n`,
    ...(asked.length === 0 ? [] : [parameterTable(asked)]),
    ...(requestBody === undefined
      ? []
      : [`Body${requestBody.required ? '' : ' (optional)'}: ${contentText(requestBody.content)}\n`]),
    `${responsesText(responses, shared)}\n`,
  ].join('\n');
}

function parameterTable(parameters: readonly Parameter[]): string {
  const rows = parameters.map(
    ({ name, in: place, description = '', schema }) =>
      `| \`${name}\` | ${place} | ${phraseOf(schema).replaceAll('|', '\\|')} | ${description.replaceAll('|', '\\|')} |`,
  );
  return ['| parameter | in | type | |', '|---|---|---|---|', ...rows, ''].join('\n');
}

function contentText(content: Content): string {
  const parts = Object.entries(content).map(([type, { schema }]) => ({ type, phrase: phraseOf(schema) }));
  const phrases = [...new Set(parts.map(({ phrase }) => phrase))];
  return phrases
    .map((phrase) => {
      const types = parts.filter((part) => part.phrase === phrase).map(({ type }) => `\`${type}\``);
      return `${phrase} as ${types.join(' or ')}`;
    })
    .join('; ');
}

/** Successes in full; refusals, which all have the same body, by their status. */
function responsesText(responses: Operation['responses'], shared: ApiDocument['components']['responses']): string {
  const all = Object.entries(responses).map(([status, response]) => {
    const name = response.$ref?.split('/').at(-1);
    return { status, response: name === undefined ? response : { ...shared[name], ...response } };
  });
  const replies = all.filter(({ status }) => Number(status) < 400);
  const refusals = all.filter(({ status }) => Number(status) >= 400);
  const lines = replies.map(({ status, response: { description = '', content } }) => {
    const [body] = Object.values(content ?? {});
    return `- **${status}** ${description.replace(/\.$/, '')}${body === undefined ? '' : `: ${phraseOf(body.schema)}`}`;
  });
  if (refusals.length > 0) {
    const bodies = refusals.flatMap(({ response }) => Object.values(response.content ?? {}));
    // A status that two dialects share has either body.
    const either = bodies.flatMap(({ schema }) => schema.anyOf ?? schema.oneOf ?? [schema]);
    const phrases = [...new Set(either.map(phraseOf))];
    lines.push(`- [Refused](#codes) with ${refusals.map(({ status }) => status).join(', ')}: ${phrases.join(' or ')}`);
  }
  return lines.join('\n');
}

function schemaText(name: string, schema: Schema): string {
  const table = membersTable(schema);
  return [
    `### ${name}\n`,
    ...(schema.description === undefined ? [] : [`${schema.description}\n`]),
    table === '' ? `${phraseOf(schema)}\n` : table,
  ].join('\n');
}
