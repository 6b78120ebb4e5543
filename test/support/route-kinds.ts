/** One request of each kind, for tests of the service while the database is not writable. */
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { FORGERY_FIELD, formToken } from '../../src/portal/frame/forgery.ts';
import { EDGE, EMPLOYEES, type ErrorBody, succeeded, TOKEN, tokenFor } from './client.ts';
import { makeEventType, registerApplication } from './journey.ts';
import { newSession } from './portal-requests.ts';
import type { ServiceInProcess } from './service.ts';

/** `code` is the code of an error body, or RFC 6749's `error`. It is null for other responses. */
export type KindAnswer = { readonly status: number; readonly retryAfter: string | null; readonly code: string | null };

export type RouteKind = {
  readonly what: string;
  /** False if it does not write to the database. Otherwise its response while the database is not writable: an error code or a page. */
  readonly write: 'unavailable' | 'temporarily_unavailable' | 'page' | false;
  /** Its response if nothing is wrong. */
  readonly status: number;
  ask(): Promise<KindAnswer>;
};

type Init = Omit<RequestInit, 'body'> & {
  readonly token?: string;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
};

/** Each request can be sent five times. */
export async function routeKinds(service: ServiceInProcess): Promise<readonly RouteKind[]> {
  const { admin, credentials, url } = service;
  const { clientId, clientSecret } = credentials;
  const type = 'kind.asked';
  await makeEventType(admin, type);
  const session = await newSession(service, 'administrator');
  const { userId } = await newSession(service, 'viewer');
  const [adminToken = '', ...revocable] = await Promise.all(
    Array.from({ length: 6 }, () => tokenFor(url, credentials)),
  );
  const worker = await registerApplication(admin, ['employees:create', 'employees:view', 'tokens:introspect']);
  let made = 0;
  const unique = (): string => {
    made += 1;
    return `kind-${made}`;
  };
  const person = { firstName: 'A', lastName: 'B', email: 'a@b.example', division: 'x' };
  const { userId: employeeId } = await succeeded<{ userId: string }>(
    worker.api.post(EMPLOYEES, { userName: unique(), ...person }),
  );

  const ask = async (method: string, path: string, init: Init = {}): Promise<KindAnswer> => {
    const { token: bearer, json, form, headers } = init;
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(form !== undefined && { body: new URLSearchParams(form).toString() }),
    });
    const text = await response.text();
    const { error } = text.startsWith('{') ? (JSON.parse(text) as { error?: string | ErrorBody['error'] }) : {};
    const code = typeof error === 'string' ? error : (error?.code ?? null);
    return { status: response.status, retryAfter: response.headers.get('retry-after'), code };
  };
  const cookie = { cookie: `${SESSION_COOKIE}=${session.token}`, accept: 'text/html' };
  const page = (path: string): Promise<KindAnswer> => ask('GET', path, { headers: cookie });
  const sendForm = (path: string, fields: Readonly<Record<string, string>>): Promise<KindAnswer> =>
    ask('POST', path, { headers: cookie, form: { [FORGERY_FIELD]: formToken(session.token), ...fields } });
  const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const client = { client_id: clientId, client_secret: clientSecret };
  const introspector = { clientId: worker.credentials.clientId, clientSecret: worker.credentials.clientSecret };
  const forwarded = { 'x-forwarded-method': 'GET', 'x-forwarded-uri': EMPLOYEES };
  const original = { 'x-original-method': 'GET', 'x-original-uri': EMPLOYEES };

  const write = (what: string, status: number, send: () => Promise<KindAnswer>): RouteKind => ({
    what,
    status,
    write: 'unavailable' as const,
    ask: send,
  });
  const read = (what: string, send: () => Promise<KindAnswer>, status = 200): RouteKind => ({
    what,
    status,
    write: false as const,
    ask: send,
  });
  return [
    write('a token, in JSON', 200, () =>
      ask('POST', TOKEN, { json: { clientId, clientSecret, grantType: 'client_credentials' } }),
    ),
    {
      what: 'a token, as a form',
      status: 200,
      write: 'temporarily_unavailable',
      ask: () => ask('POST', TOKEN, { form: grant }),
    },
    {
      what: 'a revocation',
      status: 200,
      write: 'temporarily_unavailable',
      ask: () => ask('POST', '/services/api/oauth2/revoke', { form: { ...client, token: revocable.shift() ?? '' } }),
    },
    write('an event', 202, () => ask('POST', `${EDGE}/events`, { token: adminToken, json: { type, data: {} } })),
    write('an employee', 201, () =>
      ask('POST', EMPLOYEES, { token: worker.token, json: { userName: unique(), ...person } }),
    ),
    write('a new resource', 201, () =>
      ask('POST', `${EDGE}/event-types`, { token: adminToken, json: { name: `kind.${unique().replace('-', '')}` } }),
    ),
    write('a change', 200, () =>
      ask('PATCH', `${EDGE}/users/${userId}`, { token: adminToken, json: { displayName: unique() } }),
    ),
    {
      what: 'a form of the portal',
      status: 303,
      write: 'page',
      ask: () => sendForm('/event-types/new', { name: `kind.${unique().replace('-', '')}` }),
    },
    read('a list', () => ask('GET', `${EDGE}/users`, { token: adminToken })),
    read('one employee', () => ask('GET', `${EMPLOYEES}/${employeeId}`, { token: worker.token })),
    read('introspection', () =>
      ask('POST', '/services/api/oauth2/introspect', {
        form: { token: worker.token, client_id: introspector.clientId, client_secret: introspector.clientSecret },
      }),
    ),
    read('forward auth, as Caddy asks', () =>
      ask('GET', '/services/api/oauth2/forward-auth', { token: worker.token, headers: forwarded }),
    ),
    read('forward auth, as nginx asks', () =>
      ask('GET', '/services/api/oauth2/forward-auth', { token: worker.token, headers: original }),
    ),
    read('the overview of the portal', () => page('/')),
    read('a list of the portal', () => page('/webhooks')),
    read('liveness', () => ask('GET', '/livez')),
  ];
}
