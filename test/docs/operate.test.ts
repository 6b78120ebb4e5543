/** Checks the configurations and the disaster drill of the pages about operation. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { WebhookState } from '../../src/domain/webhook.ts';
import { isRunnable } from '../../src/domain/webhook-states.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { runDocumentedCommands } from '../support/documented-program.ts';
import { lacking } from '../support/programs.ts';
import { temporaryFolder } from '../support/service.ts';
import { sharedCertificates } from '../support/tls.ts';

const howTos = fileURLToPath(new URL('../../docs/how-to/', import.meta.url));
const proxyPage = readFileSync(join(howTos, 'run-behind-a-proxy.md'), 'utf8');
const monitoring = readFileSync(join(howTos, 'monitor.md'), 'utf8');

/** The first block in this language on the page about proxies. */
function blockOf(language: string): string {
  const [, text] = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'm').exec(proxyPage) ?? [];
  assert.ok(text !== undefined, `there is no block of ${language}`);
  return text;
}

test('the disaster drill succeeds and restores the data', async (t) => {
  const folder = temporaryFolder(t);
  const outputs = await runDocumentedCommands(folder, 'how-to/back-up-and-restore.md', 'Disaster drill');
  assert.match(outputs.at(-1) ?? '', /\border\.created\b/);
  assert.doesNotMatch(outputs.at(-2) ?? '', /^problem/m);
});

test('nginx and Caddy accept their configurations', { skip: lacking('nginx', 'caddy') }, (t) => {
  const folder = temporaryFolder(t);
  const { certificate, privateKey } = sharedCertificates().server;
  writeFileSync(join(folder, 'cert.pem'), certificate);
  writeFileSync(join(folder, 'key.pem'), privateKey);
  const nginx = blockOf('nginx');
  const server = nginx
    .replace('/etc/ssl/edge.example.pem', join(folder, 'cert.pem'))
    .replace('/etc/ssl/private/edge.example.key', join(folder, 'key.pem'));
  assert.notEqual(server, nginx);
  const paths = ['client_body', 'proxy', 'fastcgi', 'scgi', 'uwsgi'].map((name) => `${name}_temp_path ${name};`);
  const whole = `pid nginx.pid; events {} http { access_log off; ${paths.join(' ')} ${server} }`;
  writeFileSync(join(folder, 'nginx.conf'), whole);
  const path = `${process.env.PATH}:/usr/sbin`;
  execFileSync('nginx', ['-t', '-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')], {
    env: { ...process.env, PATH: path },
    stdio: 'pipe',
  });

  writeFileSync(join(folder, 'Caddyfile'), blockOf('caddyfile'));
  const adapted = execFileSync('caddy', ['adapt', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  assert.match(adapted.toString(), /"dial":"127\.0\.0\.1:8080"/);
});

test('every metric of an alert exists', async () => {
  const metrics = createMetrics({ queues: { read: async () => ({ queues: [], otherRecords: 0 }) }, clock: Date.now });
  const shown = await metrics.render();
  const named = new Set([...monitoring.matchAll(/\bsallyport_[a-z_]+/g)].map(([name]) => name));
  assert.ok(named.size >= 3);
  for (const name of named) assert.match(shown, new RegExp(`^# TYPE ${name} `, 'm'));
});

test('the alert about waiting records covers exactly the webhooks that send', () => {
  const [, states = ''] =
    /oldest_pending_seconds > 900\n +and on \(webhook\) .*\{state=~"(.*)"\}/.exec(monitoring) ?? [];
  const all: readonly WebhookState[] = ['stopped', 'started', 'running', 'failing', 'failed'];
  assert.deepEqual(states.split('|'), all.filter(isRunnable));
});
