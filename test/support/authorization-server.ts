/** A customer's authorization server beside its receiver: gives tokens for client credentials (RFC 6749 §4.4). */
import type { PlannedAnswer, SeenRequest } from './https-server.ts';
import type { Receiver } from './receiver.ts';

export type AuthorizationServer = {
  /** The `oauth` settings for an endpoint. */
  readonly oauth: {
    readonly clientId: string;
    readonly clientSecret: string;
    readonly tokenUrl: string;
    readonly scopes: string;
  };
  /** Tokens that are good: those given out so far, and not taken back. */
  readonly tokens: Set<string>;
  /** Every token that was ever given out. */
  readonly issued: readonly string[];
  readonly requests: readonly SeenRequest[];
  /** How to answer from now on; with tokens until this is called, and again with null. */
  answer(plan: ((request: SeenRequest) => PlannedAnswer) | null): void;
};

export function createAuthorizationServer(
  receiver: Receiver,
  path: string,
  /** Further members of the token response, such as `expires_in`. */
  response: Readonly<Record<string, unknown>> = { expires_in: 3600 },
): AuthorizationServer {
  const tokens = new Set<string>();
  const issued: string[] = [];
  const requests: SeenRequest[] = [];
  let plan: ((request: SeenRequest) => PlannedAnswer) | null = null;
  const issue = (): PlannedAnswer => {
    const token = `token-${issued.length + 1}-${path.slice(1)}`;
    tokens.add(token);
    issued.push(token);
    return {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ access_token: token, token_type: 'bearer', ...response }),
    };
  };
  receiver.route(path, (request) => {
    requests.push(request);
    return plan?.(request) ?? issue();
  });
  return {
    oauth: {
      clientId: 'client id;with/reserved+characters',
      clientSecret: 's3cret%& of the client',
      tokenUrl: receiver.origin + path,
      scopes: 'events:write other',
    },
    tokens,
    issued,
    requests,
    answer: (next) => {
      plan = next;
    },
  };
}
