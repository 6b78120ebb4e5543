/**
 * Expected errors of requests: the only error class that callers see (contract §1.4). Any other error is answered with 500 and logged,
 * without details in the reply.
 */

/** The HTTP status of each code. */
export const REFUSAL_STATUS = {
  invalid_request: 400,
  validation_failed: 400,
  malformed_json: 400,
  invalid_client: 400,
  invalid_scope: 400,
  unsupported_grant_type: 400,
  ambiguous_path: 400,
  unauthorized: 401,
  invalid_token: 401,
  insufficient_scope: 401,
  insufficient_permission: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  in_use: 409,
  read_only: 409,
  last_administrator: 409,
  limit_reached: 409,
  not_verified: 409,
  invalid_state: 409,
  idempotency_conflict: 409,
  precondition_failed: 412,
  content_too_large: 413,
  unsupported_media_type: 415,
  too_many_requests: 429,
  headers_too_large: 431,
  server_error: 500,
  not_implemented: 501,
  unavailable: 503,
  http_version_not_supported: 505,
} as const;

export type RefusalCode = keyof typeof REFUSAL_STATUS;

/** A wrong field of a request, e.g. `{field: 'scopes[2]', problem: 'is not a scope of any product'}`. */
export type FieldProblem = { readonly field: string; readonly problem: string };

/**
 * When a request that was `unavailable` can be sent again: in a few seconds, once someone has fixed the cause, or after a look, because
 * nobody knows whether its change was kept.
 */
export type Repeat = 'soon' | 'once fixed' | 'after a look';

/** Where a refusal is read. What one can do about it has another name at each: a request, a button, a command. */
type Door = 'api' | 'portal' | 'command';

/** The text after the description at each door, with its punctuation. */
export type Ending = Readonly<Record<Door, string>>;

export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly status: number;
  readonly details: readonly FieldProblem[] | null;
  /** Response headers that belong to this refusal, such as `WWW-Authenticate`, `Allow` or `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null: every door has only the description. */
  readonly ending: Ending | null;
  /** Null: the request itself has to change. */
  readonly repeat: Repeat | null;

  constructor(
    code: RefusalCode,
    description: string,
    more: {
      details?: readonly FieldProblem[];
      headers?: Readonly<Record<string, string>>;
      ending?: Ending;
      repeat?: Repeat;
    } = {},
  ) {
    super(description);
    this.name = 'Refusal';
    this.code = code;
    this.status = REFUSAL_STATUS[code];
    this.details = more.details ?? null;
    this.headers = more.headers ?? {};
    this.ending = more.ending ?? null;
    this.repeat = more.repeat ?? (this.headers['Retry-After'] === undefined ? null : 'soon');
  }
}

/** The description and the problems of fields as they are read at this door. */
export function saidAt(door: Door, { message, details, ending }: Refusal): Pick<Refusal, 'message' | 'details'> {
  const end = ending?.[door] ?? '';
  const whole = details?.map(({ field, problem }) => ({ field, problem: problem + end })) ?? null;
  return { message: message + end, details: whole };
}

/** Refuses one field, with the field both in the description and in `details`. */
export function refuseField(
  field: string,
  problem: string,
  code: RefusalCode = 'validation_failed',
  more: { readonly ending?: Ending } = {},
): Refusal {
  return new Refusal(code, `${field} ${problem}`, { details: [{ field, problem }], ...more });
}

/** For work that needs the address of the service while nobody has set it. A customer cannot change the settings. */
export function unknownAddress(customerId: string | null): Refusal {
  return new Refusal(
    'unavailable',
    customerId === null
      ? 'SALLYPORT_PUBLIC_URL is not set: this needs the address that clients use'
      : 'the address of this service is not set up yet, and this needs it. Ask your provider',
  );
}

/** Refuses a time range that ends before it begins; null is an open end. `since` is the name of the first field. */
export function refuseBackwards(from: number | null, until: number | null, since = 'since'): void {
  if (from !== null && until !== null && until <= from) throw refuseField('until', `must be later than ${since}`);
}

/** Number of problems in one refusal. */
export const PROBLEMS_MAX = 20;

/** Refuses several fields. The description names the first. Drops other properties of the problems. */
export function refuseFields(problems: readonly FieldProblem[], code: RefusalCode = 'validation_failed'): Refusal {
  const details = problems.slice(0, PROBLEMS_MAX).map(({ field, problem }) => ({ field, problem }));
  const [first] = details;
  const more = details.length > 1 ? `, and ${details.length - 1} more` : '';
  const description = first === undefined ? 'the request is not valid' : `${first.field} ${first.problem}${more}`;
  return new Refusal(code, description, { details });
}

/** Runs all checks and throws one refusal for all fields that they refuse. Any other error ends the checks immediately. */
export async function checkAll(checks: readonly (() => void | Promise<void>)[]): Promise<void> {
  const problems: FieldProblem[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'validation_failed' || error.details === null) throw error;
      problems.push(...error.details);
    }
  }
  if (problems.length > 0) throw refuseFields(problems);
}
