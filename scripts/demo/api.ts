/** Calls the service's API and checks the status of each answer. */

type Answer<T> = { readonly status: number; readonly headers: Headers; readonly body: T };

export type Api = {
  readonly url: string;
  /** Throws unless the answer has the status `wanted`. */
  call<T = Record<string, unknown>>(wanted: number, method: string, path: string, body?: unknown): Promise<Answer<T>>;
  /** The same API with another token. */
  as(token: string): Api;
};

export const EDGE = '/services/api/x/edge/v1';
export const EMPLOYEES = '/services/api/x/users/v1/employees';

export function createApi(url: string, token: string | null = null): Api {
  return {
    url,
    as: (other) => createApi(url, other),
    call: async <T>(wanted: number, method: string, path: string, body?: unknown) => {
      const response = await fetch(url + path, {
        method,
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }).catch((cause: unknown) => {
        throw new Error(`${method} ${path} got no answer`, { cause });
      });
      const text = await response.text();
      if (response.status !== wanted) {
        throw new Error(`${method} ${path} answered ${response.status} instead of ${wanted}: ${text}`);
      }
      return { status: response.status, headers: response.headers, body: (text === '' ? null : JSON.parse(text)) as T };
    },
  };
}

export type Client = { readonly clientId: string; readonly clientSecret: string };
export type Token = { readonly access_token: string; readonly expires_in: number; readonly scope: string };

/** Requests a token with every scope of the application. */
export async function requestToken(url: string, { clientId, clientSecret }: Client): Promise<Token> {
  const body = { clientId, clientSecret, grantType: 'client_credentials' };
  return (await createApi(url).call<Token>(200, 'POST', '/services/api/oauth2/token', body)).body;
}
