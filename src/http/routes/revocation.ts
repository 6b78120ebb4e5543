/** Token revocation (RFC 7009): a client revokes one of its own tokens. */
import { z } from 'zod';
import type { Tokens } from '../../access/tokens.ts';
import type { Route } from '../route.ts';
import type { ClientAuthentication } from './client-authentication.ts';
import { parametersOf } from './oauth-parameters.ts';
import { formCredentials, oauthBody, oauthErrorSchema, oauthRoute } from './oauth-route.ts';

export const REVOCATION_PATH = '/services/api/oauth2/revoke';

const subject = {
  token: z.string(),
  token_type_hint: z.string().optional().meta({ description: 'Ignored: there are only access tokens' }),
};

const revocationRequest = z
  .looseObject({
    clientId: z.string().optional().meta({ description: 'Or `client_id`; may be sent by HTTP Basic instead' }),
    clientSecret: z.string().optional().meta({ description: 'Or `client_secret`, likewise' }),
    ...subject,
  })
  .meta({ id: 'RevocationRequest', description: 'The token to revoke, and whose it is.' });

const revocationForm = z
  .object({ ...formCredentials, ...subject })
  .catchall(z.string())
  .meta({ id: 'RevocationForm', description: 'The token to revoke, and whose it is (RFC 7009 §2.1).' });

type Dependencies = { readonly tokens: Pick<Tokens, 'revoke'>; readonly authentication: ClientAuthentication };

export function revocationRoutes({ tokens, authentication }: Dependencies): Route[] {
  return [
    oauthRoute({
      for: 'anyone',
      path: REVOCATION_PATH,
      operationId: 'revokeToken',
      authentication: { by: ['body', 'basic'] },
      summary: 'Revoke an access token',
      body: oauthBody(revocationRequest, revocationForm),
      replies: {
        200: { description: 'The token is not valid, whether or not it ever was', schema: z.object({}) },
        401: { description: 'To a form: the client credentials are not valid', schema: oauthErrorSchema },
      },
      respond: async (call) => {
        const parameters = parametersOf(call);
        const client = await authentication.client(call, parameters);
        // Reply only after the write: a failed write must not look like a revoked token.
        await tokens.revoke(parameters.required('token'), client);
        // RFC 7009 §2.2 defines no body, but clients that parse every reply as JSON fail on an empty one.
        return { status: 200, body: {} };
      },
    }),
  ];
}
