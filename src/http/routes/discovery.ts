/** Authorization server metadata (RFC 8414), so that a client needs to know only the issuer. */
import { z } from 'zod';
import type { Products } from '../../access/products.ts';
import { type Route, TOKEN_PATH } from '../route.ts';
import { INTROSPECTION_PATH } from './introspection.ts';
import { REVOCATION_PATH } from './revocation.ts';
import { GRANT_TYPE } from './token.ts';

const DISCOVERY_PATH = '/.well-known/oauth-authorization-server';

const CLIENT_METHODS = ['client_secret_basic', 'client_secret_post'];

const metadata = z
  .object({
    issuer: z.string(),
    token_endpoint: z.string(),
    introspection_endpoint: z.string(),
    revocation_endpoint: z.string(),
    scopes_supported: z.array(z.string()),
    response_types_supported: z.array(z.string()),
    grant_types_supported: z.array(z.string()),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    introspection_endpoint_auth_methods_supported: z.array(z.string()),
    revocation_endpoint_auth_methods_supported: z.array(z.string()),
  })
  .meta({ id: 'AuthorizationServerMetadata', description: 'What a client needs to know of the authorization server.' });

type Dependencies = {
  /** The configured public address, or the listening address, which is known only when the server listens. Must be exact. */
  readonly issuer: () => string;
  /** Only its data in memory is used, because anyone may call as often as they like. */
  readonly products: Pick<Products, 'scopeNames'>;
};

export function discoveryRoutes({ issuer, products }: Dependencies): Route[] {
  return [
    {
      for: 'anyone',
      method: 'GET',
      path: DISCOVERY_PATH,
      access: 'open',
      tag: 'oauth',
      operationId: 'getAuthorizationServerMetadata',
      summary: 'Authorization server metadata',
      replies: {
        200: { description: 'The metadata', schema: metadata },
        503: { description: 'The public address is unknown' },
      },
      respond: async () => {
        const base = issuer().replace(/\/$/, '');
        return {
          status: 200,
          body: {
            issuer: issuer(),
            token_endpoint: base + TOKEN_PATH,
            introspection_endpoint: base + INTROSPECTION_PATH,
            revocation_endpoint: base + REVOCATION_PATH,
            scopes_supported: [...products.scopeNames()],
            // Required by §2, while §3.2 forbids an empty list, and Authlib refuses one. `none` issues nothing: OAuth 2.0 Multiple
            // Response Type Encoding Practices §4. There is no authorization endpoint.
            response_types_supported: ['none'],
            grant_types_supported: [GRANT_TYPE],
            token_endpoint_auth_methods_supported: CLIENT_METHODS,
            // Token types are allowed next to client authentication methods (§2).
            introspection_endpoint_auth_methods_supported: [...CLIENT_METHODS, 'Bearer'],
            revocation_endpoint_auth_methods_supported: CLIENT_METHODS,
          } satisfies z.infer<typeof metadata>,
        };
      },
    },
  ];
}
