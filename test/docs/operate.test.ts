/** Checks the commands and configurations of docs/operate.md. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { run } from '../../src/cli/run.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { isRunnable } from '../../src/webhooks/lifecycle.ts';
import type { WebhookState } from '../../src/webhooks/webhook.ts';
import { runDocumentedCommands } from '../support/documented-program.ts';
import { temporaryFolder } from '../support/service.ts';
import { makeCertificates } from '../support/tls.ts';

const docs = fileURLToPath(new URL('../../docs/', import.meta.url));
const page = readFileSync(join(docs, 'operate.md'), 'utf8');

function blocksOf(language: string): string[] {
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))];
  return blocks.map(([, text = '']) => text.replaceAll(/ \\\n\s*/g, ' '));
}

test('the disaster drill succeeds and restores the data', async (t) => {
  const folder = temporaryFolder(t);
  const outputs = await runDocumentedCommands(folder, 'operate.md', 'Disaster drill');
  assert.match(outputs.at(-1) ?? '', /\border\.created\b/);
  assert.doesNotMatch(outputs.at(-2) ?? '', /^problem/m);
});

test('every sallyport command on the page exists, with its options', async () => {
  const cron = [...page.matchAll(/\/usr\/local\/bin\/(sallyport .*?) >/g)].map(([, command = '']) => command);
  const inText = [...page.matchAll(/`(sallyport [a-z][^`>]*?)(?: \d?>>.*)?`/g)].map(([, command = '']) => command);
  const lines = blocksOf('sh').flatMap((block) => block.split('\n').map((line) => line.replace(/^runuser .* -- /, '')));
  const commands = [...lines, ...cron, ...inText].filter((line) => line.startsWith('sallyport '));
  assert.ok(commands.length > 15, `${commands.length} commands`);
  for (const command of commands) {
    let errors = '';
    const status = await run([...command.split(/\s+/).slice(1), '--help'], {
      env: {},
      out: async () => true,
      isInteractive: false,
      isErrorInteractive: false,
      err: async (text) => {
        errors += text;
        return true;
      },
      read: async () => null,
    });
    assert.equal(status, 0, `${command}: ${errors}`);
  }
});

test('nginx and Caddy accept their configurations', (t) => {
  const folder = temporaryFolder(t);
  const { certificate, privateKey } = makeCertificates().server;
  writeFileSync(join(folder, 'cert.pem'), certificate);
  writeFileSync(join(folder, 'key.pem'), privateKey);
  const [nginx = ''] = blocksOf('nginx');
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

  const [caddy = ''] = blocksOf('caddyfile');
  writeFileSync(join(folder, 'Caddyfile'), caddy);
  const adapted = execFileSync('caddy', ['adapt', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  assert.match(adapted.toString(), /"dial":"127\.0\.0\.1:8080"/);
});

test('every metric of an alert exists', async () => {
  const metrics = createMetrics({ queues: { read: async () => ({ queues: [], otherRecords: 0 }) }, clock: Date.now });
  const shown = await metrics.render();
  const named = new Set([...page.matchAll(/\bsallyport_[a-z_]+/g)].map(([name]) => name));
  assert.ok(named.size >= 3);
  for (const name of named) assert.match(shown, new RegExp(`^# TYPE ${name} `, 'm'));
});

test('the alert about waiting records covers exactly the webhooks that send', () => {
  const [, states = ''] = /oldest_pending_seconds > 900\n +and on \(webhook\) .*\{state=~"(.*)"\}/.exec(page) ?? [];
  const all: readonly WebhookState[] = ['stopped', 'started', 'running', 'failing', 'failed'];
  assert.deepEqual(states.split('|'), all.filter(isRunnable));
});

test('every linked file and heading exists', () => {
  const slugs = new Set([...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => slugOf(title)));
  for (const [, target = ''] of page.matchAll(/\]\(([^)]+)\)/g)) {
    if (target.startsWith('https://')) continue;
    const [file = '', heading] = target.split('#');
    assert.ok(file === '' ? slugs.has(heading ?? '') : existsSync(join(docs, file)), target);
  }
});

function slugOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');
}
