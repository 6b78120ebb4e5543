/**
 * @node-oauth/oauth2-server on Express: client credentials, and an API behind its `authenticate`. Arguments: a folder for its
 * database, the employee, the clients.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import OAuth2Server from '@node-oauth/oauth2-server';
import express from 'express';
import { listen } from './listen.mjs';
import { openStore } from './token-store.mjs';

const [folder, employee, clients] = [process.argv[2], ...process.argv.slice(3).map((text) => JSON.parse(text))];
const store = openStore(folder, employee);
const SCOPE = 'employees:view';
const { Request, Response } = OAuth2Server;

const hash = (text) => createHash('sha256').update(text).digest();
const known = new Map(
  clients.map(({ clientId, clientSecret }) => [
    clientId,
    { client: { id: clientId, grants: ['client_credentials'] }, secretHash: hash(clientSecret) },
  ]),
);

const server = new OAuth2Server({
  accessTokenLifetime: 3600,
  model: {
    getClient: async (id, secret) => {
      const found = known.get(id);
      return found !== undefined && timingSafeEqual(found.secretHash, hash(secret)) ? found.client : null;
    },
    getUserFromClient: async ({ id }) => ({ id }),
    validateScope: async (_user, _client, scope) => (scope.every((name) => name === SCOPE) ? scope : false),
    saveToken: async (token, client, user) => {
      store.save(token.accessToken, { ...token, client, user }, token.accessTokenExpiresAt.getTime());
      return { ...token, client, user };
    },
    getAccessToken: async (text) => {
      const token = store.find(text);
      return token && { ...token, accessTokenExpiresAt: new Date(token.accessTokenExpiresAt) };
    },
    verifyScope: async (token, scope) => scope.every((name) => token.scope.includes(name)),
  },
});

const app = express();
app.disable('x-powered-by');
app.post('/token', express.urlencoded({ extended: false }), async (incoming, outgoing) => {
  const response = new Response(outgoing);
  try {
    await server.token(new Request(incoming), response);
    outgoing.set(response.headers).status(response.status).json(response.body);
  } catch (error) {
    outgoing.status(error.code ?? 500).json({ error: error.name, error_description: error.message });
  }
});
app.get('/employees/:id', authenticate, (request, response) => {
  const found = store.employee(request.params.id);
  if (found === undefined) response.status(404).end();
  else response.json(found);
});
listen(createServer(app));

async function authenticate(incoming, outgoing, next) {
  try {
    incoming.token = await server.authenticate(new Request(incoming), new Response(outgoing), { scope: [SCOPE] });
    next();
  } catch (error) {
    outgoing
      .status(error.code ?? 500)
      .set('WWW-Authenticate', 'Bearer')
      .end();
  }
}
