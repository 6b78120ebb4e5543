/** One event is delivered to ten receivers that others wrote, and each verifies it (`npm run demo:receivers`). */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { npmModules } from '../support/npm-tools.ts';
import { lacking } from '../support/programs.ts';
import { pythonOfReceivers } from '../support/python-tools.ts';

const DEMO = fileURLToPath(new URL('../../scripts/demo-receivers.ts', import.meta.url));

const VERIFIED: Readonly<Record<string, RegExp>> = {
  svix: /^webhook-signature$/,
  cloudevents: /^a batch of 1, order\.created from http:\/\/127\.0\.0\.1:\d+$/,
  octokit: /^X-Hub-Signature-256$/,
  stripe: /^Stripe-Signature of order\.created$/,
  shopify: /^X-Shopify-Hmac-Sha256 of ORDERS_CREATE$/,
  standardwebhooks: /^webhook-signature of msg_/,
  'cloudevents-go': /^the handshake, then order\.created in binary mode$/,
  webhook: /^X-Signature, and ran its command for order\.created$/,
  nginx: /^Authorization: Basic of sallyport, and let order\.created pass$/,
  'node-red': /^X-Token, and ran its flow$/,
};

type Told = {
  readonly error: string | null;
  readonly steps: readonly {
    readonly step: string;
    readonly ok: boolean;
    readonly facts: Readonly<Record<string, unknown>>;
  }[];
};

async function runDemo(env: NodeJS.ProcessEnv): Promise<Told & { readonly code: unknown }> {
  const args = ['--disable-warning=ExperimentalWarning', DEMO, '--json'];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  return { ...(JSON.parse(output) as Told), code };
}

const PROGRAMS = ['npm', 'python3', 'go', 'webhook', 'nginx'] as const;

describe('the demo of receivers that others wrote', { skip: lacking(...PROGRAMS) }, () => {
  it('delivers one event to ten, and each verifies it and refuses a request that nobody signed', async () => {
    // Installs first, so that only receivers are timed.
    npmModules('other-receivers');
    pythonOfReceivers();
    const { code, error, steps } = await runDemo(process.env);
    assert.equal(error, null, JSON.stringify(steps.filter(({ ok }) => !ok)));
    assert.equal(code, 0);
    for (const [name, words] of Object.entries(VERIFIED)) {
      const { facts } = steps.find(({ step }) => step === name) ?? {};
      assert.match(String(facts?.verified), words, name);
      assert.ok(Number(facts?.['an unsigned request']) >= 400, name);
    }
    const go = steps.find(({ step }) => step === 'start-cloudevents-go');
    assert.equal(go?.facts['allowed requests a minute'], 600);
  });

  it('leaves out the receivers whose programs are missing, names the packages, and exits with 1', async () => {
    npmModules('other-receivers');
    const { code, error, steps } = await runDemo({ ...process.env, PATH: '/nowhere' });
    assert.equal(code, 1);
    const left = steps.filter(({ facts }) => facts['left out'] !== undefined);
    assert.equal(error, `${Object.keys(VERIFIED).length - left.length} of 10 receivers verified the event`);
    const words = left.map(({ facts }) => String(facts['left out'])).join('\n');
    for (const name of ['python3', 'golang-go', 'webhook']) assert.match(words, new RegExp(`apt-get install ${name}`));
  });
});
