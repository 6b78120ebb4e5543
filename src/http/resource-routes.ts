/** The five routes that every administered resource has (contract §4.2): list, create, read, merge-patch, delete. */
import { z } from 'zod';
import { actingOf } from '../access/callers.ts';
import type { Acting } from '../domain/acting.ts';
import { page } from '../kernel/schemas.ts';
import { validate } from '../kernel/validation.ts';
import type { InputReader, MergePatch } from '../resources/input.ts';
import { cursorBehind, type ListRules } from '../resources/list-rules.ts';
import type { After, Beside, Filter } from '../store/port/resource.ts';
import {
  actingOn,
  changed,
  ETAG,
  IF_MATCH,
  IF_NONE_MATCH,
  NOT_MODIFIED,
  read,
  type ShownResource,
} from './conditional.ts';
import { IDEMPOTENCY_KEY, type Once } from './once.ts';
import { listQuery, PAGE_QUERY, pageReply, readListQuery } from './paging.ts';
import {
  type BodyRule,
  type Call,
  jsonBody,
  type Method,
  patchBody,
  type Reply,
  type Route,
  requireCaller,
  type ServedTo,
} from './route.ts';

export const EDGE = '/services/api/x/edge/v1';

type Resource<For extends ServedTo, Rec> = {
  readonly for: For;
  /** For the path and the tag: `applications`. */
  readonly path: string;
  /** Singular, for summaries: `application`. */
  readonly noun: string;
  readonly view: z.ZodType;
  show(record: Rec): { readonly id: string };
};

type ReadRoutes<For extends ServedTo, Rec> = Resource<For, Rec> & {
  readonly administration: {
    get(id: string): Promise<Rec>;
    list(after: After, limit: number, filter?: Filter): Promise<Rec[]>;
  };
  /** Filters and orders. Without them, the list is in order of creation. */
  readonly list?: ListRules;
};

type ChangeRoutes<For extends ServedTo, Rec, Made, Body, Input> = Resource<For, Rec> & {
  readonly reader: InputReader<Body, Input>;
  /** The schema of a patch, where that may not name every field. */
  readonly patchInput?: z.ZodType;
  /** The reply to `POST`, if it contains a secret. Default: `view`. */
  readonly createdView?: z.ZodType;
  readonly administration: {
    create(input: Input, acting: Acting, more: { readonly beside: Beside<Made> }): Promise<Made>;
    patch(id: string, patch: MergePatch<Body>, acting: Acting): Promise<Rec>;
    remove(id: string, acting: Acting): Promise<void>;
  };
  /** Other replies of `POST` and `PATCH`. */
  readonly changeReplies?: Route['replies'];
  /** The reply to `POST`. */
  showMade(made: Made): ShownResource & { readonly shown: { readonly id: string } };
  readonly once: Once;
};

/** A route of the administration API, which needs a token that a rule of the catalogue accepts. `path`: below `EDGE`. */
export function guardedRoute<For extends ServedTo>(
  method: Method,
  path: string,
  more: Omit<Route<For>, 'method' | 'path' | 'access'>,
): Route<For> {
  return { ...more, method, path: `${EDGE}/${path}`, access: 'guarded' };
}

export function resourceRoutes<For extends ServedTo, Rec extends { readonly id: string }, Made, Body, Input>(
  resource: ReadRoutes<For, Rec> & ChangeRoutes<For, Rec, Made, Body, Input>,
): Route<For>[] {
  return [...readRoutes(resource), ...changeRoutes(resource)];
}

/** List and read. */
export function readRoutes<For extends ServedTo, Rec extends { readonly id: string }>(
  resource: ReadRoutes<For, Rec>,
): Route<For>[] {
  const { path, noun, view, administration, show, list } = resource;
  const shared = { for: resource.for, tag: path };
  return [
    guardedRoute('GET', path, {
      ...shared,
      operationId: `list${pascalCase(path)}`,
      summary: `List ${path.replace('-', ' ')}`,
      ...(list === undefined && { description: 'In the order of their creation.' }),
      query: list === undefined ? PAGE_QUERY : listQuery(list),
      replies: { 200: { description: `A page of ${path}`, schema: page(view) } },
      respond: ({ query }) => {
        const rules = list ?? { name: path, filters: {}, sorts: {} };
        const asked = readListQuery(query, rules);
        return pageReply(
          asked,
          (limit) => administration.list(asked.after, limit, asked.filter),
          show,
          (record) => cursorBehind(rules, asked.after, record),
        );
      },
    }),
    guardedRoute('GET', `${path}/{id}`, {
      ...shared,
      operationId: `get${pascalCase(noun)}`,
      summary: `Read ${article(noun)}`,
      headers: IF_NONE_MATCH,
      replies: { 200: { description: `The ${noun}`, schema: view, headers: ETAG }, ...NOT_MODIFIED },
      respond: async (call) => read(call, show(await administration.get(idInPath(call)))),
    }),
  ];
}

/** Create, change and delete. */
export function changeRoutes<For extends ServedTo, Rec extends { readonly id: string }, Made, Body, Input>(
  resource: ChangeRoutes<For, Rec, Made, Body, Input>,
): Route<For>[] {
  const { path, noun, reader, patchInput = reader.schema, view, createdView = view, changeReplies } = resource;
  const { administration, show, showMade, once } = resource;
  const item = `${path}/{id}`;
  const shared = { for: resource.for, tag: path };
  const name = pascalCase(noun);
  return [
    guardedRoute('POST', path, {
      ...shared,
      operationId: `create${name}`,
      summary: `Create ${article(noun)}`,
      headers: IDEMPOTENCY_KEY,
      body: jsonBody(reader.schema),
      replies: { 201: { description: `The ${noun}`, schema: createdView, headers: ETAG }, ...changeReplies },
      respond: (call) =>
        once<Made>(
          call,
          (made) => created(path, showMade(made)),
          (beside) => administration.create(reader.create(call.body), actingOf(requireCaller(call)), { beside }),
        ),
    }),
    guardedRoute('PATCH', item, {
      ...shared,
      operationId: `update${name}`,
      summary: `Change ${article(noun)} (RFC 7396)`,
      headers: IF_MATCH,
      body: patchBody(patchInput),
      replies: { 200: { description: `The ${noun} as it is now`, schema: view, headers: ETAG }, ...changeReplies },
      respond: async (call) => {
        const acting = actingOn(call);
        return changed({ shown: show(await administration.patch(idInPath(call), reader.patch(call.body), acting)) });
      },
    }),
    guardedRoute('DELETE', item, {
      ...shared,
      operationId: `delete${name}`,
      summary: `Delete ${article(noun)}`,
      headers: IF_MATCH,
      replies: { 204: { description: 'It is gone' } },
      respond: async (call) => {
        await administration.remove(idInPath(call), actingOn(call));
        return { status: 204 };
      },
    }),
  ];
}

/**
 * `POST {collection}/{id}/{verb}`, without input if `body` is absent. `If-Match` is checked through `acting` if the resource itself
 * changes, else with `requireMatch`.
 */
export function actionRoute<For extends ServedTo>(
  path: string,
  verb: string,
  summary: string,
  more: Pick<Route<For>, 'for' | 'operationId' | 'description' | 'headers' | 'body' | 'replies' | 'promisesNothing'> & {
    respond(call: Call, id: string, acting: Acting): Promise<Reply>;
  },
): Route<For> {
  const { respond, headers, body = NO_INPUT, ...described } = more;
  return guardedRoute('POST', `${path}/{id}/${verb}`, {
    ...described,
    body,
    headers: { ...IF_MATCH, ...headers },
    tag: path,
    summary,
    respond: async (call) => {
      const acting = actingOn(call);
      if (body === NO_INPUT) validate(emptyInput, call.body);
      return respond(call, idInPath(call), acting);
    },
  });
}

/** The body of an action without input: absent, or an empty object. */
const emptyInput = z.strictObject({});
const NO_INPUT: BodyRule = jsonBody(emptyInput, { optional: true });

export function okReply(body: unknown): Reply {
  return { status: 200, body };
}

function created(path: string, made: ShownResource & { readonly shown: { readonly id: string } }): Reply {
  const { headers, body } = changed(made);
  return { status: 201, headers: { Location: `${EDGE}/${path}/${made.shown.id}`, ...headers }, body };
}

export function idInPath({ params }: Call): string {
  return params.id ?? '';
}

function pascalCase(words: string): string {
  return words.replace(/(?:^|[ -])(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function article(noun: string): string {
  // "user" and "unit" begin with the sound of a consonant.
  return /^(?:[aeio]|u(?!s|ni))/i.test(noun) ? `an ${noun}` : `a ${noun}`;
}
