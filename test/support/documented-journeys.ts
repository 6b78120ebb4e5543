/** Which commands of README.md and docs/ the tests run, and why they do not run the others. */

/** Pages whose commands run. The pages of one journey share a service, in this order, after the commands that prepare them. */
export const JOURNEYS: readonly { readonly prepare?: readonly string[]; readonly pages: readonly string[] }[] = [
  { pages: ['README.md'] },
  // As a reader does, one after the other in the same folder.
  {
    pages: ['docs/start.md', 'docs/tutorial-portal.md', 'docs/tutorial-customers.md', 'docs/how-to/publish-events.md'],
  },
  { pages: ['docs/portal.md', 'docs/how-to/add-people.md', 'docs/how-to/upgrade.md'] },
  {
    pages: [
      'docs/how-to/protect-an-api.md',
      'docs/how-to/forward-auth.md',
      'docs/how-to/introspect-tokens.md',
      'docs/hand-out.md',
      'docs/how-to/revoke-access.md',
    ],
  },
  { pages: ['docs/api-catalogue.md'], prepare: ['sallyport user create --user-name shop --permission orders:view'] },
  { pages: ['docs/how-to/try-out-deliveries.md'] },
  { pages: ['docs/how-to/usage-and-limits.md'] },
  {
    pages: [
      'docs/how-to/register-an-endpoint.md',
      'docs/how-to/create-a-webhook.md',
      'docs/how-to/deliver-in-other-formats.md',
      'docs/how-to/order-and-batches.md',
      'docs/how-to/encrypt-payloads.md',
      'docs/how-to/retries-and-failures.md',
      'docs/how-to/replay.md',
      'docs/how-to/read-events.md',
      'docs/how-to/erase-personal-data.md',
      'docs/how-to/oauth-to-receivers.md',
      'docs/how-to/match-a-receiver.md',
    ],
    prepare: [`sallyport event-type create --name order.created --sample '{"orderId": 42}'`],
  },
  { pages: ['docs/how-to/move-from-convoy.md'] },
  { pages: ['docs/how-to/move-from-your-own-sender.md'] },
  {
    pages: ['docs/how-to/rotate-secrets.md'],
    prepare: [
      'sallyport endpoint create --name shop --url https://hooks.example.com/in',
      'sallyport user create --user-name shop --permission webhooks:view',
      'sallyport application create --name shop --user shop --scope webhooks:view',
    ],
  },
];

/** Commands that do not run, by their first words, and the test that covers them or the reason. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  'npm start': 'runs until it is stopped: test/cli/serve.test.ts',
  'npm run demo -- --keep': 'runs until it is stopped: test/e2e/demo.slow.test.ts',
  'npm test': 'runs this test',
  "curl -s 'http://127.0.0.1:8080/services/api/x/edge/v1/deliveries": 'needs another scope: test/http/scopes.test.ts',
  'npm run build:binary': 'test/binary.slow.test.ts',
  'npm run build:receiver': 'test/receiver/package.test.ts',
  'npm install ./vendor/sallyport': 'test/package/sallyport.slow.test.ts, from its tarball',
  'npm install ./sallyport': 'test/receiver/package.test.ts, test/package/sallyport.slow.test.ts, from their tarballs',
  'export SALLYPORT_DATA': 'test/e2e/embedding-*.test.ts',
  'npx sallyport ': 'test/e2e/embedding-*.test.ts',
  'npx openapi-typescript ': 'needs another package',
  'deno run ': 'test/package/deno.slow.test.ts, on Deno',
  'sallyport audit verify --head': 'test/cli/audit.test.ts',
  'runuser -u sallyport -- ': 'needs a system account; test/docs.test.ts checks the words of sallyport',
  'RENEWED_LINEAGE=': 'needs certbot and its files',
  'useradd ': 'needs a separate system',
  'install ': 'needs a separate system',
  'systemctl ': 'needs a separate system',
  'journalctl ': 'needs a separate system',
  'set -a': 'needs a separate system',
  'ls -l /var/lib': 'needs a separate system',
  'docker ': 'needs a container engine',
  'litestream ': 'needs a program that Debian does not have',
};

/** The same for every command of a page that ELSEWHERE does not name. */
export const PAGES_ELSEWHERE: Readonly<Record<string, string>> = {
  'docs/how-to/embed-the-portal.md': 'needs a page of the product: test/portal/customers/frame.slow.test.ts has one',
  'docs/benchmarks.md': 'takes minutes; test/bench has the tests of its parts',
  'docs/how-to/back-up-and-restore.md':
    'test/docs/operate.test.ts runs the drill; test/cli/backup.test.ts verifies backups',
  'docs/how-to/recover-the-database.md': 'test/data/data-folder.test.ts',
  'docs/how-to/move-from-outpost.md': 'needs the API of Outpost: test/docs/moving.slow.test.ts',
  'docs/how-to/move-from-svix.md': 'needs the API of Svix: test/docs/moving.slow.test.ts',
  'docs/how-to/run-on-postgresql.md': 'test/cli/postgres.test.ts',
  'docs/how-to/postgresql-in-production.md':
    'test/chaos/cluster.ts, test/cli/postgres.test.ts and test/cli/move.slow.test.ts',
};

/** Why this command of the page does not run; null if it does. */
export function reasonOf(page: string, text: string): string | null {
  const found = Object.entries(ELSEWHERE).find(([start]) => text.startsWith(start));
  return found?.[1] ?? PAGES_ELSEWHERE[page] ?? null;
}
