/** Sends requests to the portal without a browser, as a browser or an attacker's page would. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import type { PortalRole } from '../../src/domain/user.ts';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { FORGERY_FIELD, formToken } from '../../src/portal/frame/forgery.ts';
import type { ServiceInProcess } from './service.ts';

export type PortalReply = { readonly status: number; readonly headers: Headers; readonly text: string };

/** Creates an account with a session. Returns the token in the session's cookie. */
export async function newSession(
  { services }: Pick<ServiceInProcess, 'services'>,
  role: PortalRole,
): Promise<{ readonly token: string; readonly userId: string; readonly sessionId: string }> {
  made += 1;
  const user = await services.users.create({ userName: `${role}-of-requests-${made}`, role }, COMMAND_LINE);
  const begun = await services.sessions.begin(user, 'password', { address: '127.0.0.1', userAgent: 'a test' });
  if (begun === null) throw new Error('the session was not created');
  return { token: begun.token, userId: user.id, sessionId: begun.session.id };
}

let made = 0;

type PortalRequest = {
  readonly method?: string;
  /** The token of a session. Without it the request has no session. */
  readonly token?: string | undefined;
  /** Fields of a form. Adds the form token unless the fields contain one. */
  readonly form?: Readonly<Record<string, string>> | URLSearchParams;
  /** Leaves the fields as they are. */
  readonly isWhole?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Sends the given headers unchanged, including `Host`. Does not read the body of a stream. */
export async function request(
  url: string,
  { method, token, form, isWhole = false, headers = {} }: PortalRequest = {},
): Promise<PortalReply> {
  const fields = form === undefined ? null : new URLSearchParams(form);
  if (!isWhole && fields?.has(FORGERY_FIELD) === false)
    fields.set(FORGERY_FIELD, token === undefined ? '' : formToken(token));
  const body = fields?.toString() ?? '';
  const sent = httpRequest(url, {
    method: method ?? (form === undefined ? 'GET' : 'POST'),
    headers: {
      accept: 'text/html',
      ...(token !== undefined && { cookie: `${SESSION_COOKIE}=${token}` }),
      ...(fields !== null && { 'content-type': 'application/x-www-form-urlencoded' }),
      ...headers,
    },
  });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const found = new Headers(pairsOf(response.rawHeaders));
  const isStream = found.get('content-type')?.startsWith('text/event-stream') === true;
  const text = isStream ? '' : await textOf(response);
  if (isStream) response.destroy();
  return { status: response.statusCode ?? 0, headers: found, text };
}

function pairsOf(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as [string, string]] : []));
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk as string;
  return text;
}
