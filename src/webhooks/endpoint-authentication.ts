/** The authentication and the headers of an endpoint as they are given, checked, stored and shown (contract §12.4, §12.5). */

import { z } from 'zod';
import {
  AUTHENTICATION_METHODS,
  type Authentication,
  currentAuthentication,
  type Endpoint,
} from '../domain/endpoint.ts';
import {
  HEADER_NAME,
  HEADER_VALUE,
  HEADER_VALUE_MAX_BYTES,
  REQUEST_HEADERS_MAX,
  reservedProblem,
} from '../domain/endpoint-headers.ts';
import { type FieldProblem, refuseFields } from '../kernel/refusal.ts';
import { NO_BLANK_ENDS_OR_CONTROLS, withoutBlankEnds, withoutControls } from '../kernel/schemas.ts';
import { secret } from '../kernel/secret.ts';
import { isObject } from '../kernel/validation.ts';

const headerName = z
  .string()
  .regex(HEADER_NAME, "must be a token of HTTP: 1 to 200 letters, digits and !#$%&'*+-.^_`|~");
const headerValue = z
  .string()
  .max(HEADER_VALUE_MAX_BYTES)
  .regex(HEADER_VALUE, 'must be visible ASCII characters, with spaces and tabs only between them');

/** One object for all methods, because a patch may change the method. `authenticationOf` checks which members belong together. */
export const authenticationInput = z.strictObject({
  method: z.enum(AUTHENTICATION_METHODS),
  // A colon would end it (RFC 7617 §2).
  userName: withoutControls(256)
    .refine((text) => !text.includes(':'), 'must not hold a colon, which ends it in HTTP Basic')
    .nullable()
    .optional()
    .meta({ description: 'Of `basic`.' }),
  password: withoutBlankEnds(withoutControls(512))
    .meta({ pattern: NO_BLANK_ENDS_OR_CONTROLS, minLength: 1, maxLength: 512 })
    .nullable()
    .optional()
    .meta({ description: 'Of `basic`.' }),
  token: z
    .string()
    .max(HEADER_VALUE_MAX_BYTES)
    .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII characters without spaces')
    .nullable()
    .optional()
    .meta({ description: 'Of `bearer`.' }),
  name: headerName.nullable().optional().meta({ description: 'Of `header`: the name of the header.' }),
  value: headerValue.nullable().optional().meta({ description: 'Of `header`.' }),
  hasSecret: z.boolean().optional().meta({ description: 'As reads have it. Ignored.' }),
});
type AuthenticationInput = z.output<typeof authenticationInput>;

export const authenticationView = z.object({
  method: z.enum(AUTHENTICATION_METHODS),
  userName: z.string().optional().meta({ description: 'Of `basic`.' }),
  password: z.null().optional(),
  token: z.null().optional(),
  name: z.string().optional().meta({ description: 'Of `header`.' }),
  value: z.null().optional(),
  hasSecret: z.literal(true).meta({ description: 'The secret is stored and never shown.' }),
});

export const requestHeadersInput = z
  .array(
    z.strictObject({
      name: headerName,
      value: headerValue.nullable().optional().meta({
        description: 'Null or absent: the stored value of a secret header of this name stays.',
      }),
      secret: z.boolean().default(false).meta({ description: 'Whether reads hide the value. Default: false.' }),
    }),
  )
  .max(REQUEST_HEADERS_MAX)
  .superRefine((headers, context) => {
    const names = headers.map(({ name }) => name.toLowerCase());
    for (const [at, name] of names.entries()) {
      const problem = names.indexOf(name) < at ? 'repeats an earlier header' : reservedProblem(name);
      if (problem !== null) context.addIssue({ code: 'custom', path: [at, 'name'], message: problem });
    }
  });

export const requestHeadersView = z.array(
  z.object({
    name: z.string(),
    value: z.string().nullable().meta({ description: 'Null if it is secret.' }),
    secret: z.boolean(),
  }),
);

/** The members of each method: the one that reads show, and the secret one. */
export const AUTHENTICATION_MEMBERS = {
  basic: { shown: 'userName', secret: 'password' },
  bearer: { shown: null, secret: 'token' },
  header: { shown: 'name', secret: 'value' },
} as const satisfies Record<Authentication['method'], { shown: keyof AuthenticationInput | null; secret: string }>;

const VALUE_MEMBERS = ['userName', 'password', 'token', 'name', 'value'] as const;

/**
 * The authentication of a checked request. `given` is what the caller wrote; members of another method are refused there. The secret of
 * `before` stays if the method stays and none is given. Throws a refusal that names every field.
 */
export function authenticationOf(
  input: AuthenticationInput,
  before: Authentication | null,
  given: unknown,
): Authentication {
  const { method } = input;
  const members = AUTHENTICATION_MEMBERS[method];
  const problems: FieldProblem[] = [];
  const refuse = (member: string, problem: string): void =>
    void problems.push({ field: `authentication.${member}`, problem });
  for (const member of VALUE_MEMBERS) {
    const isForeign = member !== members.shown && member !== members.secret;
    if (isForeign && isObject(given) && (given[member] ?? null) !== null) refuse(member, `has no place in ${method}`);
  }
  const kept = before?.method === method ? before : null;
  const name = members.shown === null ? null : (input[members.shown] ?? kept?.name ?? null);
  const text = input[members.secret] ?? null;
  if (members.shown !== null && name === null) refuse(members.shown, 'is required');
  if (text === null && kept === null) refuse(members.secret, 'is required');
  const reserved = method === 'header' && name !== null ? reservedProblem(name) : null;
  if (reserved !== null) refuse('name', reserved);
  if (problems.length > 0) throw refuseFields(problems);
  return { method, name, secret: text === null ? (kept as Authentication).secret : secret(text) };
}

export function viewAuthentication({ method, name }: Authentication): z.infer<typeof authenticationView> {
  const { shown, secret: hidden } = AUTHENTICATION_MEMBERS[method];
  return { method, ...(shown !== null && name !== null && { [shown]: name }), [hidden]: null, hasSecret: true };
}

/** The target of a merge patch. It lacks the secret, so `authenticationOf` knows whether one was given. */
export function writtenAuthentication({ method, name }: Authentication): AuthenticationInput {
  const { shown } = AUTHENTICATION_MEMBERS[method];
  return { method, ...(shown !== null && { [shown]: name }) };
}

export function auditedAuthentication(authentication: Authentication | null): unknown {
  if (authentication === null) return null;
  const { method, name, secret: value } = authentication;
  const { shown, secret: hidden } = AUTHENTICATION_MEMBERS[method];
  return { method, ...(shown !== null && { [shown]: name }), [hidden]: value };
}

export function viewRequestHeaders({
  requestHeaders,
}: Pick<Endpoint, 'requestHeaders'>): z.infer<typeof requestHeadersView> {
  return (requestHeaders ?? []).map(({ name, value, secret: isSecret }) => ({
    name,
    value: isSecret ? null : value.reveal(),
    secret: isSecret,
  }));
}

export function auditedRequestHeaders({ requestHeaders }: Pick<Endpoint, 'requestHeaders'>): unknown {
  return (
    requestHeaders?.map(({ name, value, secret: isSecret }) => ({
      name,
      value: isSecret ? value : value.reveal(),
      secret: isSecret,
    })) ?? null
  );
}

type AuthenticationColumns = Pick<Endpoint, 'authentication' | 'nextAuthentication' | 'nextAuthenticationAt'>;

/** A scheduled authentication stays scheduled unless the patch sets another than the one that is sent at `now`. */
export function authenticationColumns(
  input: AuthenticationInput | null,
  before: Endpoint | null,
  patch: unknown,
  now: number,
): AuthenticationColumns {
  const given = isObject(patch) ? patch.authentication : input;
  const isGiven = patch === null || (isObject(patch) && Object.hasOwn(patch, 'authentication'));
  const current = before === null ? null : currentAuthentication(before, now);
  const keep = (): AuthenticationColumns => {
    const { authentication = null, nextAuthentication = null, nextAuthenticationAt = null } = before ?? {};
    return { authentication, nextAuthentication, nextAuthenticationAt };
  };
  if (!isGiven) return keep();
  const authentication = input === null ? null : authenticationOf(input, current, given);
  // The given secret counts as new, so it may go to another server.
  if (isSame(authentication, current))
    return current !== null && current === before?.nextAuthentication
      ? { ...keep(), nextAuthentication: authentication }
      : { ...keep(), authentication };
  return { authentication, nextAuthentication: null, nextAuthenticationAt: null };
}

function isSame(one: Authentication | null, other: Authentication | null): boolean {
  if (one === null || other === null) return one === other;
  return one.method === other.method && one.name === other.name && one.secret.reveal() === other.secret.reveal();
}

/** The stored headers. A secret header without a value keeps the one that is stored. Throws a refusal that names the headers. */
export function requestHeadersColumn(
  input: z.output<typeof requestHeadersInput>,
  before: Endpoint | null,
): Endpoint['requestHeaders'] {
  const problems: FieldProblem[] = [];
  const headers = input.map(({ name, value, secret: isSecret }, at) => {
    const kept = before?.requestHeaders?.find((one) => one.secret && one.name.toLowerCase() === name.toLowerCase());
    if (value == null && !(isSecret && kept !== undefined))
      problems.push({ field: `requestHeaders[${at}].value`, problem: 'is required' });
    return { name, value: value == null ? (kept?.value ?? secret('')) : secret(value), secret: isSecret };
  });
  if (problems.length > 0) throw refuseFields(problems);
  return headers.length === 0 ? null : headers;
}
