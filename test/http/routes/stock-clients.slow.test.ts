import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { javaToolsClassPath } from '../../support/java-tools.ts';
import { makeClient, startOAuthService } from '../../support/oauth-service.ts';
import { pythonWithTools } from '../../support/python-tools.ts';

const run = promisify(execFile);

function program(name: string): string {
  return fileURLToPath(new URL(`../../tools/${name}`, import.meta.url));
}

describe('clients in other languages', () => {
  for (const [what, command] of [
    ['Authlib, oauthlib and requests-oauthlib', () => [pythonWithTools(), program('oauth_clients.py')]],
    ['Nimbus', () => ['java', '-cp', javaToolsClassPath(), program('OAuthClient.java')]],
  ] as const) {
    it(`${what} read the metadata, get tokens, introspect and revoke them`, async (t) => {
      const [file = '', ...args] = command();
      const service = await startOAuthService(t);
      const client = await makeClient(service, ['employees:view', 'tokens:introspect']);
      const credentials = [service.origin, client.clientId, client.clientSecret];
      const { stdout } = await run(file, [...args, ...credentials]);
      assert.equal(stdout, 'ok\n');
    });
  }
});
