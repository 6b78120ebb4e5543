/**
 * Who calls an OAuth endpoint: client credentials from the `Authorization` header or from the body, never both (RFC 6749 §2.3.1),
 * checked behind the throttle (contract §2 "Brute force").
 */

import type { Client } from '../access/application.ts';
import { credentialBytes } from '../access/credential.ts';
import { type Attempt, refuseBlocked, type Throttle } from '../access/throttle.ts';
import type { ClientCredentials, Tokens } from '../access/tokens.ts';
import type { Clock } from '../kernel/ids.ts';
import { AUTHORIZATION_BYTES } from '../kernel/limits/limits.ts';
import { Refusal } from '../kernel/refusal.ts';
import { decodeFormText } from './form.ts';
import { BASIC_CHALLENGE } from './oauth-error.ts';
import { isForm, type Parameters } from './oauth-parameters.ts';
import { networkOf } from './remote-address.ts';
import type { Call } from './route.ts';

export type ClientAuthentication = {
  /**
   * The client behind a call. Throws `invalid_client`, the same for every reason that lies in the credentials; `invalid_request`
   * for credentials in two places or malformed ones; 429 with `Retry-After` after too many failures.
   */
  client(call: Call, parameters: Parameters): Promise<Client>;
};

type Dependencies = {
  readonly tokens: Pick<Tokens, 'authenticate'>;
  readonly throttle: Throttle;
  readonly clock: Clock;
};

/** One for all routes: a door that guesses at one of them have closed is closed at the others too. */
export function createClientAuthentication({ tokens, throttle, clock }: Dependencies): ClientAuthentication {
  const authenticate = async (credentials: ClientCredentials, attempt: Attempt): Promise<Client> => {
    refuseBlocked(throttle.blockedForMs(attempt, clock()), tooMany);
    const client = await tokens.authenticate(credentials).catch((error: unknown) => {
      if (isFailedAuthentication(error)) refuseBlocked(throttle.countFailure(attempt, clock()), tooMany);
      throw error;
    });
    refuseBlocked(throttle.blockedForMs(attempt, clock()), tooMany);
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
        // Whatever else stands in its place may be a secret that was put there by mistake.
        if (credentialBytes('spc', clientId) !== null) call.clientId = clientId;
        throw error;
      }
    },
  };
}

/**
 * Where the credentials of a call are. Throws 400 `invalid_request` for a repeated header, and for credentials in the body beside
 * one; but a form may repeat the `client_id` that Basic carries (contract §2): RFC 6749 §3.2.1 lets clients send it, and stock ones do.
 */
export function credentialPlace({ request, mediaType }: Call, parameters: Parameters): 'header' | 'body' {
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

function credentialsOf(call: Call, parameters: Parameters): ClientCredentials {
  if (credentialPlace(call, parameters) === 'header') {
    const credentials = basicCredentials(call.request.headers.authorization ?? '');
    if ((parameters.optional('client_id') ?? credentials.clientId) === credentials.clientId) return credentials;
    throw new Refusal('invalid_request', 'client_id differs from the client id in the Authorization header');
  }
  if (isForm(call.mediaType) && parameters.optional('client_id') === undefined) {
    // RFC 6749 §5.2 counts "no client authentication included" as this.
    throw new Refusal('invalid_client', 'client credentials are required', {
      headers: { 'WWW-Authenticate': BASIC_CHALLENGE },
    });
  }
  return { clientId: parameters.required('client_id'), clientSecret: parameters.required('client_secret') };
}

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** RFC 6749 §2.3.1: the id and the secret are form-encoded before they are joined by a colon and Base64-encoded. */
function basicCredentials(header: string): ClientCredentials {
  if (!isBasic(header)) {
    throw new Refusal('invalid_client', 'of the authentication schemes only Basic is taken here');
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
