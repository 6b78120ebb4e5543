/** A customer's authorization server. It issues tokens for client credentials (RFC 6749 §4.4). */
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
  /** The valid tokens: issued and not revoked. */
  readonly tokens: Set<string>;
  /** Every issued token, including revoked ones. */
  readonly issued: readonly string[];
  readonly requests: readonly SeenRequest[];
  /** Replaces the response to token requests. Null restores the default, which issues a token. */
  answer(plan: ((request: SeenRequest) => PlannedAnswer) | null): void;
};

export function createAuthorizationServer(
  receiver: Receiver,
  path: string,
  /** Additional members of the token response, for example `expires_in`. */
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
