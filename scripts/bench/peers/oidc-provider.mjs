/**
 * oidc-provider on Express: client credentials for opaque tokens, and an API behind its tokens. Arguments: a folder for its
 * database, the employee, the clients.
 */
import { createServer } from 'node:http';
import express from 'express';
import Provider from 'oidc-provider';
import { listen } from './listen.mjs';
import { openStore } from './token-store.mjs';

const [folder, employee, clients] = [process.argv[2], ...process.argv.slice(3).map((text) => JSON.parse(text))];
const store = openStore(folder, employee);
const SCOPE = 'employees:view';

/** All that client credentials take of an adapter. */
class SqliteAdapter {
  async upsert(id, payload, expiresInSeconds) {
    store.save(id, payload, Date.now() + expiresInSeconds * 1000);
  }
  async find(id) {
    return store.find(id);
  }
  async destroy(id) {
    store.remove(id);
  }
}

const provider = new Provider('http://127.0.0.1', {
  adapter: SqliteAdapter,
  clients: clients.map(({ clientId, clientSecret }) => ({
    client_id: clientId,
    client_secret: clientSecret,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    token_endpoint_auth_method: 'client_secret_post',
    scope: SCOPE,
  })),
  scopes: [SCOPE],
  features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
  cookies: { keys: ['a key'] },
  ttl: { ClientCredentials: 3600 },
});
provider.on('server_error', (_context, error) => process.stderr.write(`${error.stack}\n`));

/** As its documentation has it for APIs in the same process: the token is looked up through the provider. */
async function bearer(request, response, next) {
  const [, value] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
  const token = value === undefined ? undefined : await provider.ClientCredentials.find(value);
  if (token === undefined || !token.isValid || !token.scopes.has(SCOPE)) {
    response.status(401).set('WWW-Authenticate', 'Bearer error="invalid_token"').end();
    return;
  }
  request.token = token;
  next();
}

const app = express();
app.disable('x-powered-by');
app.get('/employees/:id', bearer, (request, response) => {
  const found = store.employee(request.params.id);
  if (found === undefined) response.status(404).end();
  else response.json(found);
});
app.use(provider.callback());
listen(createServer(app));
