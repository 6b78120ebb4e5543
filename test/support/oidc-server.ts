/** A third-party authorization server (oidc-provider) over HTTPS that issues tokens for client credentials. */
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import Provider, { type Adapter, type AdapterPayload, type JWK } from 'oidc-provider';
import { cleanUp } from './cleanup.ts';
import type { Identity } from './tls.ts';

type Answer = Record<string, unknown>;

export type OidcServer = {
  /** The `oauth` settings for an endpoint. */
  readonly oauth: {
    readonly clientId: string;
    readonly clientSecret: string;
    readonly tokenUrl: string;
    readonly scopes: string;
  };
  /** Every access token that was issued. */
  readonly issued: readonly string[];
  /** The number of requests to the token endpoint. */
  tokenRequests(): number;
  /** The number of connections opened so far. */
  connections(): number;
  /** Changes further responses of the token endpoint, to imitate less strict servers. */
  alter(change: ((answer: Answer) => void) | null): void;
  /** Delays token requests until the returned function is called. */
  hold(): () => void;
};

const CLIENT = { clientId: 'sallyport', clientSecret: 'a-secret-of-the-client', scopes: 'events:write' };

const SIGNING_KEY = {
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
  use: 'sig',
} as JWK;

/** Stores the provider's tokens. The provider's own adapter logs a warning at every start. */
function inMemory(): Adapter {
  const kept = new Map<string, AdapterPayload>();
  return {
    upsert: async (id, payload) => void kept.set(id, payload),
    find: async (id) => kept.get(id),
    findByUserCode: async () => undefined,
    findByUid: async () => undefined,
    consume: async () => undefined,
    destroy: async (id) => void kept.delete(id),
    revokeByGrantId: async () => undefined,
  };
}

/** `validitySeconds` is the `expires_in` of its tokens. */
export async function startOidcServer(
  t: TestContext,
  identity: Identity,
  { validitySeconds = 600 }: { readonly validitySeconds?: number } = {},
): Promise<OidcServer> {
  const issued: string[] = [];
  let requests = 0;
  let connections = 0;
  let change: ((answer: Answer) => void) | null = null;
  let gate: Promise<void> = Promise.resolve();
  const server = createServer({ cert: identity.certificate, key: identity.privateKey });
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp(t, () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(origin, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        scope: CLIENT.scopes,
        id_token_signed_response_alg: 'ES256',
      },
    ],
    // The client may not request the second scope.
    scopes: [CLIENT.scopes, 'events:read'],
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    adapter: inMemory,
    jwks: { keys: [SIGNING_KEY] },
    cookies: { keys: ['a key of the tests'] },
    ttl: { ClientCredentials: validitySeconds },
  });
  provider.use(async (context, next) => {
    requests += 1;
    await gate;
    await next();
    const answer = context.body as Answer | undefined;
    if (typeof answer?.access_token === 'string') issued.push(answer.access_token);
    if (answer !== undefined) change?.(answer);
  });
  server.on('request', provider.callback());
  return {
    oauth: { ...CLIENT, tokenUrl: `${origin}/token` },
    issued,
    tokenRequests: () => requests,
    connections: () => connections,
    alter: (next) => {
      change = next;
    },
    hold: () => {
      let release = (): void => {};
      gate = new Promise((resolve) => {
        release = resolve;
      });
      return () => release();
    },
  };
}
