import assert from 'node:assert/strict';
import { it } from 'node:test';
import { humanText } from '../../src/cli/terminal.ts';
import { createLog } from '../../src/observe/log.ts';

function logged(write: (log: ReturnType<typeof createLog>) => void): string {
  let text = '';
  write(createLog('debug', { write: (line) => (text += humanText(line)) }));
  return text.replaceAll(/^\d\d:\d\d:\d\d/gm, 'TIME');
}

it('shows time, message and fields, and a level unless it is info', () => {
  assert.equal(
    logged((log) => log.info({ webhookId: 'w', records: 2 }, 'webhook running')),
    'TIME  webhook running  webhookId=w  records=2\n',
  );
  assert.equal(
    logged((log) => log.warn({ reason: 'no such host' }, 'webhook failing')),
    'TIME  warning  webhook failing  reason="no such host"\n',
  );
});

it('shows the stack of an error below its line', () => {
  const text = logged((log) => log.error({ err: new Error('broken') }, 'a request failed'));
  assert.match(text, /^TIME {2}error {2}a request failed\n {2}Error: broken\n {6}at /);
});

it('shows requests on one line', () => {
  const request = { method: 'GET', path: '/livez', status: 200, durationMs: 1.26, remoteAddress: '127.0.0.1' };
  const line = logged((log) => log.request({ ...request, clientId: null, refusal: null, errorId: null }));
  assert.equal(line, 'TIME  request  method=GET  path=/livez  status=200  durationMs=1.3  remoteAddress=127.0.0.1\n');
});

it('leaves other text unchanged', () => assert.equal(humanText('not JSON\n'), 'not JSON\n'));
