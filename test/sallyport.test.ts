/** Tests a start that fails. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSallyport } from '../src/sallyport.ts';
import { cleanUp } from './support/cleanup.ts';
import { unusedFolder } from './support/command.ts';

it('releases its data folder if a file of the portal is missing', async (t) => {
  const options = { dataDir: unusedFolder(t), logLevel: 'silent' } as const;
  const first = await createSallyport(options);
  await first.stop();
  // A binary that has its threads but no other files.
  const thread = new URL('../src/store/sqlite/driver/thread.ts', import.meta.url).href;
  const getAsset = (name: string): string =>
    name.endsWith('-thread.js') ? `import(${JSON.stringify(thread)})` : assert.fail(`there is no ${name}`);
  const missing = { isSea: () => true, getAsset };
  const found = process.getBuiltinModule.bind(process);
  const restore = replaceBuiltins((id) => (id === 'node:sea' ? missing : found(id)));
  cleanUp(t, restore);
  await assert.rejects(createSallyport(options), { message: 'there is no portal/tokens.css' });
  restore();
  const next = await createSallyport(options);
  await next.stop();
});

/** On Deno the property is an accessor, which `mock.method` does not accept. */
function replaceBuiltins(value: (id: string) => unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(process, 'getBuiltinModule') ?? assert.fail('there is none');
  Object.defineProperty(process, 'getBuiltinModule', { value, configurable: true });
  return () => void Object.defineProperty(process, 'getBuiltinModule', before);
}
