import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import { unanswered } from './answers.ts';
import { createSteps } from './steps.ts';

describe('the steps of a kill test', () => {
  it('pass on what the work returns, and its error', async () => {
    const steps = createSteps();
    assert.equal(await steps.run('counting', 1000, async () => 3), 3);
    await assert.rejects(
      steps.run('failing', 1000, async () => {
        throw new Error('it failed');
      }),
      /^Error: it failed$/,
    );
    assert.equal(steps.current(), 'nothing');
  });

  it('end with an error that names the step that hangs, those around it, and its log', async () => {
    const steps = createSteps(() => 0);
    const outer = steps.run('the fault', 60_000, () =>
      steps.run(
        'a start',
        1,
        () => new Promise<never>(() => undefined),
        () => '\nthe log',
      ),
    );
    await assert.rejects(outer, {
      message: 'hung: a start did not end within 0.001 s; in progress: the fault (for 0 s), a start (for 0 s)\nthe log',
    });
    assert.equal(steps.current(), 'nothing');
  });

  for (const [how, code] of [
    ['exit(3)', 3],
    ["kill(process.pid, 'SIGTERM')", 143],
  ] as const)
    it(`are told by a process that ends without a report, by ${how}`, () => {
      const program = `
        import { createSteps, tellUnreported } from ${JSON.stringify(new URL('steps.ts', import.meta.url).href)};
        const steps = createSteps();
        tellUnreported(steps, (text) => void process.stdout.write(text));
        void steps.run('waiting', 60_000, () => new Promise(() => undefined));
        setImmediate(() => process.${how});`;
      const { stdout, status } = spawnSync(
        process.execPath,
        ['--input-type=module', '--disable-warning=ExperimentalWarning'],
        { input: program, encoding: 'utf8' },
      );
      assert.deepEqual(
        [stdout, status],
        [`The run ended with ${code} and without a report. In progress: waiting (for 0 s)`, code],
      );
    });
});

describe('a request of a kill test', () => {
  it('that is never answered is a fault, and one that is reset is none', async () => {
    const faults: string[] = [];
    const server = createServer((socket) => void socket.on('error', () => undefined).resume());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const url = `http://127.0.0.1:${port}/`;
    assert.equal(await fetch(url, { signal: AbortSignal.timeout(20) }).catch(unanswered('reading', faults)), null);
    assert.deepEqual(faults, ['reading was not answered within 60 s']);
    server.on('connection', (socket) => void socket.destroy());
    assert.equal(await fetch(url).catch(unanswered('reading', faults)), null);
    assert.equal(faults.length, 1);
    await new Promise((resolve) => server.close(resolve));
  });
});
