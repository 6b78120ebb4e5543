/** Checks real responses against an OpenAPI document, so that neither changes without the other. */
import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { type ApiDocument, type Operation, type Place, placeOf, type Response } from './openapi-document.ts';

/**
 * Throws an `AssertionError` with the operation and all differences. An operation, a status or a member of the body that the document does
 * not describe is a difference. `path` may have a query; `text` is the body as received, or empty without one.
 */
export type ResponseChecker = (method: string, path: string, status: number, headers: Headers, text: string) => void;

export function createResponseChecker(described: ApiDocument): ResponseChecker {
  const document = closed(described) as ApiDocument;
  const paths = Object.entries(document.paths)
    .map(([template, operations]) => ({ template, pattern: patternOf(template), operations }))
    .sort((a, b) => a.template.split('{').length - b.template.split('{').length);
  const problemsOfValue = createSchemaCheck(document);

  const responseTo = (method: string, path: string, status: number): Place | string => {
    const { template = '', operations = {} } = paths.find(({ pattern }) => pattern.test(path)) ?? {};
    const verb = verbOf(operations, method);
    const early = verb !== null ? EARLY : template === '' ? EARLY_OR_NO_PATH : EARLY_OR_NO_METHOD;
    if (early.includes(status)) return earlyRefusal(document, status);
    if (verb === null) return template === '' ? 'the path is not described' : 'the method is not described';
    if (operations[verb]?.responses[status] === undefined) return 'the status is not described';
    return placeOf(document, ['paths', template, verb, 'responses', String(status)]);
  };

  return (method, target, status, headers, text) => {
    const place = responseTo(method, target.split('?', 1)[0] ?? '', status);
    const bodiless = method === 'HEAD' || status === 304;
    const problems =
      typeof place === 'string'
        ? [place]
        : [
            ...missingHeaders(place.value as Response, headers),
            ...problemsOfBody(place, { headers, text, bodiless }, problemsOfValue),
          ];
    const shown = problems.map((problem) => `\n  ${problem}`).join('');
    assert.ok(problems.length === 0, `${method} ${target} answered ${status}:${shown}\n${text.slice(0, 2000)}`);
  };
}

/**
 * Statuses that any request may get, and those of requests to unknown paths or with other methods. No operation lists them; all have the
 * error body. 405 also has `Allow`.
 */
const EARLY: readonly number[] = [431];
const EARLY_OR_NO_PATH: readonly number[] = [...EARLY, 400, 404];
const EARLY_OR_NO_METHOD: readonly number[] = [...EARLY, 400, 405];

/** The error body is that of every refusal with the status 400. */
function earlyRefusal(document: ApiDocument, status: number): Place {
  const { value, steps } = placeOf(document, ['components', 'responses', 'BadRequest']);
  const allow = { description: 'The methods of the path.', required: true, schema: { type: 'string' } };
  return status === 405 ? { value: { ...(value as Response), headers: { Allow: allow } }, steps } : { value, steps };
}

/** The key of the operation for a method, or null. */
function verbOf(operations: Readonly<Record<string, Operation>>, method: string): string | null {
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  if (operations[verb] !== undefined) return verb;
  return Object.keys(operations).find((other) => operations[other]?.['x-any-method'] === true) ?? null;
}

function patternOf(template: string): RegExp {
  const parts = template.split(/\{\w+\}/).map((literal) => literal.replace(/[.*+?^$()[\]{}|\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^/]+')}$`);
}

function missingHeaders({ headers: described = {} }: Response, headers: Headers): string[] {
  return Object.entries(described)
    .filter(([name, { required }]) => required === true && !headers.has(name))
    .map(([name]) => `the header ${name} is missing`);
}

type Body = { readonly headers: Headers; readonly text: string; readonly bodiless: boolean };

function problemsOfBody({ value, steps }: Place, { headers, text, bodiless }: Body, check: SchemaCheck): string[] {
  const { content } = value as Response;
  if (bodiless || content === undefined) return text === '' ? [] : ['a body that is not described'];
  const mediaType = headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? 'none';
  if (content[mediaType] === undefined) return [`the media type ${mediaType} is not described`];
  if (mediaType !== 'application/json') return [];
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return ['the body is not JSON'];
  }
  return check([...steps, 'content', mediaType, 'schema'], parsed);
}

type SchemaCheck = (steps: readonly string[], value: unknown) => string[];

const checks = new WeakMap<object, SchemaCheck>();

/**
 * Validates values against a schema in the document, and resolves the schema's references in the document. A document's schemas are
 * compiled once.
 */
export function createSchemaCheck(document: object): SchemaCheck {
  const check = checks.get(document) ?? compilingCheck(document);
  checks.set(document, check);
  return check;
}

function compilingCheck(document: object): SchemaCheck {
  // Compiling takes longer than all validations: code that is neither inlined nor optimized takes two thirds of the time.
  const cheap = { inlineRefs: false, code: { optimize: false } };
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, ...cheap });
  formats.default(ajv);
  ajv.addSchema(document, 'document');
  const compiled = new Map<string, ValidateFunction>();
  return (steps, value) => {
    const $ref = `document#/${steps.map(escaped).join('/')}`;
    const validate = compiled.get($ref) ?? ajv.compile({ $ref });
    compiled.set($ref, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `body${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  };
}

function escaped(step: string): string {
  return encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** A copy in which object schemas refuse additional members unless they say otherwise. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (part === null || typeof part !== 'object') return part;
  const copy = Object.fromEntries(Object.entries(part).map(([name, member]) => [name, closed(member)]));
  const isOpen = copy.type === 'object' && 'properties' in copy && !('additionalProperties' in copy);
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}
