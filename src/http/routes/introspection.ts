/** Token introspection (RFC 7662): shows what a token grants now, to applications with the right scope (contract §2.4). */
import { z } from 'zod';
import { type Caller, type Gate, requireOperator, requireScope } from '../../access/gate.ts';
import type { Tokens } from '../../access/tokens.ts';
import type { UserStore } from '../../store/port/access.ts';
import type { Call, Route } from '../route.ts';
import { type ClientAuthentication, credentialPlace } from './client-authentication.ts';
import { type OAuthParameters, parametersOf } from './oauth-parameters.ts';
import { formCredentials, oauthBody, oauthRoute } from './oauth-route.ts';

export const INTROSPECTION_PATH = '/services/api/oauth2/introspect';
const INTROSPECT = { scope: 'tokens:introspect', permission: 'tokens:introspect' };

const subject = {
  token: z.string(),
  token_type_hint: z.string().optional().meta({ description: 'Ignored: there are only access tokens' }),
};

const introspectionRequest = z
  .looseObject({
    ...subject,
    clientId: z.string().optional().meta({ description: 'Or `client_id`; without it the header says who asks' }),
    clientSecret: z.string().optional().meta({ description: 'Or `client_secret`, likewise' }),
  })
  .meta({ id: 'IntrospectionRequest', description: 'The token in question.' });

const introspectionForm = z
  .object({ ...subject, ...formCredentials })
  .catchall(z.string())
  .meta({ id: 'IntrospectionForm', description: 'The token to introspect (RFC 7662 §2.1).' });

const introspectionResponse = z
  .object({
    active: z.boolean().meta({ description: 'If false, all other members are absent' }),
    scope: z.string().optional(),
    client_id: z.string().optional(),
    username: z.string().optional(),
    token_type: z.literal('Bearer').optional(),
    exp: z.int().optional().meta({ description: 'Seconds since 1970' }),
    iat: z.int().optional(),
    sub: z.string().optional().meta({ description: 'The id of the user that the application acts as' }),
    jti: z.string().optional().meta({ description: 'An id of the token that is not a credential' }),
    iss: z.string().optional().meta({ description: 'Absent if the public address is unknown' }),
    aud: z.string().optional().meta({ description: 'The same as `iss`' }),
    permissions: z.array(z.string()).optional().meta({ description: 'What the user may do now' }),
    constraints: z
      .object({ divisions: z.array(z.string()).optional() })
      .optional()
      .meta({ description: 'The current limits of the user' }),
    customerId: z
      .string()
      .optional()
      .meta({ description: 'The customer to whom the application belongs; left out for the operator' }),
  })
  .meta({ id: 'IntrospectionResponse', description: 'The current rights of a token (RFC 7662 §2.2).' });

type Dependencies = {
  readonly tokens: Pick<Tokens, 'introspect'>;
  readonly authentication: ClientAuthentication;
  readonly gate: Pick<Gate, 'authenticate'>;
  readonly users: Pick<UserStore, 'get'>;
  /** The issuer in the metadata; null if the public address is unknown. */
  readonly issuer: () => string | null;
};

type Holder = Pick<Caller, 'customerId' | 'scope' | 'userName' | 'permissions'>;

export function introspectionRoutes({ tokens, authentication, gate, users, issuer }: Dependencies): Route[] {
  /** RFC 7662 §2.1: authenticates with client credentials or with the caller's own bearer token. */
  const holderOf = async (call: Call, parameters: OAuthParameters): Promise<Holder> => {
    const { authorization } = call.request.headers;
    if (credentialPlace(call, parameters) === 'header' && /^bearer(?: |$)/i.test(authorization ?? '')) {
      return gate.authenticate([authorization ?? '']);
    }
    const { customerId, scopes, userId } = await authentication.client(call, parameters);
    const user = await users.get(userId);
    return { customerId, scope: scopes, userName: user?.userName ?? userId, permissions: user?.permissions ?? [] };
  };

  const introspect = async (token: string) => {
    const claims = await tokens.introspect(token);
    const at = issuer();
    return claims.active && at !== null ? { ...claims, iss: at, aud: at } : claims;
  };

  return [
    oauthRoute({
      for: 'operator',
      path: INTROSPECTION_PATH,
      promisesNothing: true,
      operationId: 'introspectToken',
      authentication: { by: ['body', 'basic', 'bearer'], scope: INTROSPECT.scope },
      summary: 'Introspect an access token',
      body: oauthBody(introspectionRequest, introspectionForm),
      replies: {
        200: { description: 'What the token is worth now', schema: introspectionResponse },
        401: { description: 'The caller may not introspect tokens' },
      },
      respond: async (call) => {
        const parameters = parametersOf(call);
        // Before the token is read: a caller without the scope gets no information about it.
        const holder = await holderOf(call, parameters);
        requireScope(holder, INTROSPECT);
        requireOperator(holder);
        return {
          status: 200,
          headers: { Pragma: 'no-cache' },
          body: await introspect(parameters.required('token')),
        };
      },
    }),
  ];
}
