/** The option `log` of `createSallyport`. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { ConfigurationError, createSallyport, type LogFields, type Logger, type Options } from 'sallyport';
import { logTo } from '../../src/program/log.ts';
import { cleanUp } from '../support/cleanup.ts';
import { unusedFolder } from '../support/command.ts';

type Line = { readonly method: keyof Logger; readonly fields: LogFields; readonly message: string };

function loggerOf(lines: Line[]): Logger {
  const to = (method: keyof Logger) => (fields: LogFields, message: string) =>
    void lines.push({ method, fields, message });
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') };
}

async function run(t: TestContext, options: Options): Promise<void> {
  const sallyport = await createSallyport({ dataDir: unusedFolder(t), port: 0, ...options });
  cleanUp(t, () => sallyport.stop());
  const { url } = await sallyport.start();
  await (await fetch(`${url}/livez`)).text();
  await sallyport.stop();
}

it('gets each line with its level, fields and message', async (t) => {
  const lines: Line[] = [];
  await run(t, { log: loggerOf(lines) });
  const find = (message: string): Line => lines.find((line) => line.message === message) ?? assert.fail(message);
  assert.equal(typeof find('listening').fields.url, 'string');
  const { method, fields } = find('request');
  assert.equal(method, 'info');
  assert.deepEqual(
    [fields.method, fields.path, fields.status, fields.level, fields.time],
    ['GET', '/livez', 200, undefined, undefined],
  );
  assert.equal(lines.at(-1)?.message, 'stopped');
});

it('gets no line below logLevel', async (t) => {
  const lines: Line[] = [];
  await run(t, { log: loggerOf(lines), logLevel: 'error' });
  assert.deepEqual(lines, []);
});

it('gets errors with name, message and stack only', () => {
  const lines: Line[] = [];
  const err = Object.assign(new Error('no answer'), { headers: { authorization: 'secret' } });
  logTo(loggerOf(lines), 'debug').error({ err }, 'failed');
  assert.deepEqual(Object.keys((lines[0]?.fields.err ?? {}) as object), ['name', 'message', 'stack']);
  logTo(loggerOf(lines), 'debug').debug('tried');
  assert.deepEqual(lines[1], { method: 'debug', fields: {}, message: 'tried' });
});

it('does not end Sallyport if it throws', async (t) => {
  const refuse = (): never => {
    throw new Error('the disk is full');
  };
  await run(t, { log: { debug: refuse, info: refuse, warn: refuse, error: refuse }, logLevel: 'info' });
});

it('is refused without its functions, by name', async () => {
  for (const log of [null, 'console', {}, { ...console, warn: undefined }]) {
    await assert.rejects(createSallyport({ log: log as never }), (error: unknown) => {
      assert.ok(error instanceof ConfigurationError);
      assert.equal(error.message, 'log must have the functions debug, info, warn, error');
      return true;
    });
  }
  await assert.rejects(
    createSallyport({ logs: console } as never),
    /^ConfigurationError: logs is not an option; .*, log$/,
  );
});
