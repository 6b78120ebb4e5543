/** The official Python, Go and Java libraries of Standard Webhooks verify deliveries during a rotation (contract §5). */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { javaToolsClassPath } from '../support/java-tools.ts';
import { pythonWithTools } from '../support/python-tools.ts';
import { deliveriesOfRotation } from '../support/standard-rotation.ts';

const tool = (name: string): string => fileURLToPath(new URL(`../tools/${name}`, import.meta.url));

const LIBRARIES: Readonly<Record<string, (input: string) => string>> = {
  Python: (input) => execFileSync(pythonWithTools(), [tool('standard_webhooks.py')], { input, encoding: 'utf8' }),
  Go: (input) => execFileSync('go', ['run', '-mod=readonly', '.'], { cwd: tool('go'), input, encoding: 'utf8' }),
  Java: (input) =>
    execFileSync('java', ['-cp', javaToolsClassPath(), tool('StandardWebhooks.java')], { input, encoding: 'utf8' }),
};

for (const [language, run] of Object.entries(LIBRARIES)) {
  it(`the standardwebhooks library of ${language} accepts only deliveries that are signed with its secret`, async (t) => {
    // Installs and compiles first, because the libraries refuse messages that are five minutes old.
    run('[]');
    const messages = await deliveriesOfRotation(t);
    const results = JSON.parse(run(JSON.stringify(messages))) as (string | null)[];
    assert.equal(results.length, messages.length);
    for (const [n, { what, valid }] of messages.entries())
      assert.equal(results[n] === null, valid, `${what}: ${results[n]}`);
  });
}
