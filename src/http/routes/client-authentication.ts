/** Authentication of clients at the OAuth endpoints: by the body or by HTTP Basic, behind the throttle (contract §2.6). */
import type { ClientCredentials, Tokens } from '../../access/tokens.ts';
import type { Client } from '../../domain/application.ts';
import { credentialBytes } from '../../domain/credential.ts';
import { AUTHORIZATION_BYTES } from '../../domain/limits.ts';
import type { Attempt } from '../../domain/throttle.ts';
import { refuseBlocked } from '../../domain/throttle.ts';
import type { Clock } from '../../kernel/ids.ts';
import { Refusal, refuseField } from '../../kernel/refusal.ts';
import { textProblem } from '../../kernel/validation.ts';
import type { Throttle } from '../../store/port/failures.ts';
import { decodeFormText } from '../body.ts';
import { networkOf } from '../request.ts';
import type { Call } from '../route.ts';
import { isForm, type OAuthParameters } from './oauth-parameters.ts';

export type ClientAuthentication = {
  /**
   * Authenticates the client of a call. Throws `invalid_client`, which never says why the credentials are wrong; `invalid_request` for
   * malformed credentials or credentials in two places; 429 with `Retry-After` after too many failures.
   */
  client(call: Call, parameters: OAuthParameters): Promise<Client>;
};

type AuthenticationParts = {
  readonly tokens: Pick<Tokens, 'authenticate' | 'version'>;
  readonly throttle: Throttle;
  readonly clock: Clock;
};

/** Authentication behind the throttle (contract §2.6). All routes share one, so that guesses at one count for all. */
export function createClientAuthentication({ tokens, throttle, clock }: AuthenticationParts): ClientAuthentication {
  const authenticate = async (credentials: ClientCredentials, attempt: Attempt): Promise<Client> => {
    // Both are asked together, since on PostgreSQL each is a query.
    const [waitMs, version] = await Promise.all([throttle.blockedForMs(attempt, clock()), tokens.version()]);
    refuseBlocked(waitMs, tooMany);
    const client = await tokens.authenticate(credentials, version).catch(async (error: unknown) => {
      if (isFailedAuthentication(error)) refuseBlocked(await throttle.countFailure(attempt, clock()), tooMany);
      throw error;
    });
    refuseBlocked(await throttle.blockedHereForMs(attempt, clock()), tooMany);
    return client;
  };
  return {
    client: async (call, parameters) => {
      const credentials = credentialsOf(call, parameters);
      const { clientId } = credentials;
      try {
        const client = await authenticate(credentials, { network: networkOf(call.remoteAddress), clientId });
        call.clientId = clientId;
        return client;
      } catch (error) {
        // Log only a well-formed client id. Anything else may be a secret in the wrong field.
        if (credentialBytes('spc', clientId) !== null) call.clientId = clientId;
        throw error;
      }
    },
  };
}

/**
 * Where a call has its credentials. Never both in the `Authorization` header and in the body (RFC 6749 §2.3.1): throws 400
 * `invalid_request` then, and for a repeated header. But a form may repeat the `client_id` of Basic (contract §2.3): RFC 6749 §3.2.1 allows
 * it, and stock clients do it.
 */
export function credentialPlace({ request, mediaType }: Call, parameters: OAuthParameters): 'header' | 'body' {
  if (request.headers.authorization === undefined) return 'body';
  if ((request.headersDistinct.authorization?.length ?? 0) > 1) {
    throw new Refusal('invalid_request', 'the Authorization header was sent more than once');
  }
  if (parameters.optional('client_secret') !== undefined) throw sentTwice();
  const clientId = parameters.optional('client_id');
  if (clientId !== undefined && !(isForm(mediaType) && isBasic(request.headers.authorization))) throw sentTwice();
  return 'header';
}

function sentTwice(): Refusal {
  return new Refusal(
    'invalid_request',
    'client credentials were sent both in the Authorization header and in the body',
  );
}

function credentialsOf(call: Call, parameters: OAuthParameters): ClientCredentials {
  if (credentialPlace(call, parameters) === 'header') {
    const credentials = basicCredentials(call.request.headers.authorization ?? '');
    if ((parameters.optional('client_id') ?? credentials.clientId) === credentials.clientId) return credentials;
    throw new Refusal('invalid_request', 'client_id differs from the client id in the Authorization header');
  }
  if (isForm(call.mediaType) && parameters.optional('client_id') === undefined) {
    // RFC 6749 §5.2 includes "no client authentication included".
    throw new Refusal('invalid_client', 'client credentials are required', {
      headers: { 'WWW-Authenticate': BASIC_CHALLENGE },
    });
  }
  return { clientId: parameters.required('client_id'), clientSecret: parameters.required('client_secret') };
}

/** RFC 7617. */
export const BASIC_CHALLENGE = 'Basic realm="sallyport", charset="UTF-8"';
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** RFC 6749 §2.3.1: the id and the secret are form-encoded, joined by a colon, and Base64-encoded. */
function basicCredentials(header: string): ClientCredentials {
  if (!isBasic(header)) {
    throw new Refusal('invalid_client', 'the only authentication scheme supported is Basic');
  }
  const base64 = header.length > AUTHORIZATION_BYTES ? undefined : BASIC.exec(header)?.[1];
  const text = base64 === undefined ? null : decodeUtf8(Buffer.from(base64, 'base64'));
  const colon = text?.indexOf(':') ?? -1;
  const clientId = text === null || colon === -1 ? null : decodeFormText(text.slice(0, colon));
  const clientSecret = text === null || colon === -1 ? null : decodeFormText(text.slice(colon + 1));
  if (clientId === null || clientSecret === null) {
    throw new Refusal(
      'invalid_request',
      'the Authorization header is not Basic with a form-encoded client id and secret',
    );
  }
  const problem = textProblem(clientId) ?? textProblem(clientSecret);
  if (problem !== null) throw refuseField('Authorization', problem, 'invalid_request');
  return { clientId, clientSecret };
}

function isBasic(header: string): boolean {
  return /^basic(?: |$)/i.test(header);
}

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

function isFailedAuthentication(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'invalid_client';
}

function tooMany(): string {
  return 'too many failed authentications came from this address';
}
