/** The token endpoint (RFC 6749 §4.4, contract §2.1, §2.3). */
import { z } from 'zod';
import type { Tokens } from '../../access/tokens.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { retryStale } from '../../store/port/errors.ts';
import { type Route, TOKEN_PATH } from '../route.ts';
import type { ClientAuthentication } from './client-authentication.ts';
import { parametersOf } from './oauth-parameters.ts';
import { formCredentials, oauthBody, oauthErrorSchema, oauthRoute, refuseInDialect } from './oauth-route.ts';

export const GRANT_TYPE = 'client_credentials';

const scope = z
  .string()
  .optional()
  .meta({
    description: 'At most 20 names separated by spaces, in any order; absent, empty or `all`: every registered one',
    examples: ['employees:view employees:edit'],
  });

const tokenForm = z
  .object({ grant_type: z.literal(GRANT_TYPE), scope, ...formCredentials })
  .catchall(z.string())
  .meta({ id: 'TokenForm', description: 'The client credentials grant (RFC 6749 §4.4.2).' });

const tokenRequest = z
  .looseObject({
    clientId: z.string().meta({ description: 'Or `client_id`' }),
    clientSecret: z.string().meta({ description: 'Or `client_secret`' }),
    grantType: z.literal(GRANT_TYPE).meta({ description: 'Or `grant_type`' }),
    scope,
  })
  .meta({
    id: 'TokenRequest',
    description: 'The client credentials grant; `scopes` is another name of `scope`. Other members are ignored.',
  });

const tokenResponse = z
  .object({
    access_token: z.string(),
    expires_in: z.int().meta({ description: 'Seconds' }),
    scope: z.string().meta({ description: 'The granted scopes, sorted' }),
    token_type: z.literal('Bearer'),
  })
  .meta({ id: 'TokenResponse', description: 'An access token (RFC 6749 §5.1).' });

type Dependencies = { readonly tokens: Pick<Tokens, 'issue'>; readonly authentication: ClientAuthentication };

export function tokenRoutes({ tokens, authentication }: Dependencies): Route[] {
  return [
    oauthRoute({
      for: 'anyone',
      path: TOKEN_PATH,
      metered: 'token',
      // It answers only what it wrote.
      promisesNothing: true,
      operationId: 'issueToken',
      authentication: { by: ['body', 'basic'] },
      summary: 'Get an access token',
      body: oauthBody(tokenRequest, tokenForm),
      replies: {
        200: { description: 'The token', schema: tokenResponse },
        401: { description: 'To a form: the client credentials are not valid', schema: oauthErrorSchema },
      },
      // Again if the tokens of the client are revoked in between: that ends tokens, not credentials.
      respond: (call) =>
        retryStale(async () => {
          const parameters = parametersOf(call);
          const grantType = parameters.required('grant_type');
          if (grantType !== GRANT_TYPE) {
            throw new Refusal('unsupported_grant_type', `the only grant type supported is ${GRANT_TYPE}`);
          }
          const scope = parameters.optional('scope');
          const client = await authentication.client(call, parameters);
          const token = await tokens.issue(client, scope);
          return {
            status: 200,
            headers: { Pragma: 'no-cache' },
            body: {
              access_token: token.accessToken,
              expires_in: token.expiresInSeconds,
              scope: token.scope,
              token_type: 'Bearer',
            },
          };
        }),
      refuse: (refusal, request) => {
        const fault = refusal.code === 'server_error';
        const named = fault ? new Refusal('server_error', 'failed to generate an access token') : refusal;
        return refuseInDialect(named, request) ?? named;
      },
    }),
  ];
}
