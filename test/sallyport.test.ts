/** A service that cannot be put together. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { defaultConfig } from '../src/config.ts';
import { createLog } from '../src/log.ts';
import { createSallyport } from '../src/sallyport.ts';
import { unusedFolder } from './support/command.ts';

it('lets go of its data folder where a file of the portal is missing', async (t) => {
  const config = { ...defaultConfig(), dataDir: unusedFolder(t) };
  const log = createLog('silent');
  const first = await createSallyport(config, log);
  await first.stop();
  // A binary that was made without its files.
  const found = process.getBuiltinModule.bind(process);
  const missing = { isSea: () => true, getAsset: (name: string) => assert.fail(`there is no ${name}`) };
  const { mock } = t.mock.method(process, 'getBuiltinModule', (id: string) =>
    id === 'node:sea' ? missing : found(id),
  );
  await assert.rejects(createSallyport(config, log), { message: 'there is no portal/tokens.css' });
  mock.restore();
  const next = await createSallyport(config, log);
  await next.stop();
});
