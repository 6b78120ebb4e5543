/** The official libraries of Standard Webhooks, and those of Svix, verify deliveries during a rotation (contract §5.7). */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { javaToolsClassPath } from '../support/java-tools.ts';
import { npmModules } from '../support/npm-tools.ts';
import { pythonOfReceivers } from '../support/python-tools.ts';
import { deliveriesOfEd25519, deliveriesOfRotation, type StandardMessage } from '../support/standard-rotation.ts';

const tool = (name: string): string => fileURLToPath(new URL(`../tools/${name}`, import.meta.url));
const built = fileURLToPath(new URL('../../node_modules/.cache/test-tools/rust', import.meta.url));

/** The verdict of each library on each message: null if it accepts it, else its error. */
type Verify = (messages: readonly StandardMessage[]) => (string | null)[];

type Library = { Webhook: new (secret: string) => { verify(body: string, headers: object): unknown } };

/** A package of npm, which runs in this process. */
function ofNpm(name: string): Verify {
  return (messages) => {
    const { Webhook } = createRequire(join(npmModules('other-receivers'), 'x'))(name) as Library;
    return messages.map(({ secret, body, headers }) => {
      try {
        new Webhook(secret).verify(body, headers);
        return null;
      } catch (error) {
        return String(error);
      }
    });
  };
}

/** A program that reads and writes JSON. */
function ofProgram(run: (input: string) => string): Verify {
  return (messages) => JSON.parse(run(JSON.stringify(messages))) as (string | null)[];
}

const ofPython = (...args: readonly string[]): Verify =>
  ofProgram((input) =>
    execFileSync(pythonOfReceivers(), [tool('standard_webhooks.py'), ...args], { input, encoding: 'utf8' }),
  );

const LIBRARIES: Readonly<Record<string, Verify>> = {
  'standardwebhooks of JavaScript': ofNpm('standardwebhooks'),
  'svix of JavaScript': ofNpm('svix'),
  'standardwebhooks of Python': ofPython(),
  'svix of Python': ofPython('svix'),
  'standardwebhooks of Go': ofProgram((input) =>
    execFileSync('go', ['run', '-mod=readonly', '.'], { cwd: tool('go'), input, encoding: 'utf8' }),
  ),
  'standardwebhooks of Java': ofProgram((input) =>
    execFileSync('java', ['-cp', javaToolsClassPath(), tool('StandardWebhooks.java')], { input, encoding: 'utf8' }),
  ),
  'standardwebhooks of Rust': ofProgram((input) => {
    const args = ['run', '--quiet', '--locked', '--manifest-path', tool('rust/Cargo.toml'), '--target-dir', built];
    return execFileSync('cargo', args, { input, encoding: 'utf8' });
  }),
};

/** The first run installs the libraries and compiles the program in Rust, which takes up to a minute. */
const timeout = 600_000;

it('each library accepts only deliveries that are signed with its secret', { timeout }, async (t) => {
  // Installs and compiles first, because the libraries refuse messages that are five minutes old.
  for (const verify of Object.values(LIBRARIES)) verify([]);
  const messages = await deliveriesOfRotation(t);
  const { only, beside } = deliveriesOfEd25519();
  for (const [name, verify] of Object.entries(LIBRARIES))
    await t.test(name, () => {
      const results = verify([...messages, only, beside]);
      assert.equal(results.length, messages.length + 2);
      for (const [n, { what, valid }] of messages.entries())
        assert.equal(results[n] === null, valid, `${what}: ${results[n]}`);
      // No library that can be had knows v1a. If a version learns it, this test fails, and match-a-receiver.md can say so.
      const [refused, accepted] = results.slice(messages.length);
      assert.match(String(refused), /signature/i, 'v1a alone');
      assert.equal(accepted, null, 'v1 beside v1a');
    });
});
