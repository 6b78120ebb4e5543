/** The documents of the API as the service sends them, and the help texts that docs/reference/ does not have. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { GROUPS } from '../../src/cli/groups.ts';
import { succeeded } from '../support/client.ts';
import { sallyport } from '../support/command.ts';
import { guard, normalised, readableJson } from '../support/guards.ts';
import { startService } from '../support/service.ts';

describe('documents and help', () => {
  it('the service sends the same OpenAPI and AsyncAPI documents', async (t) => {
    const { admin } = await startService(t);
    for (const name of ['openapi', 'asyncapi']) {
      const document = await succeeded(admin.get(`/services/api/${name}.json`));
      guard(`${name}.json`, `${normalised(readableJson(document))}\n`);
    }
    const declarations = await fetch(`${admin.url}/services/api/event-catalogue.d.ts`);
    assert.equal(declarations.status, 200);
    guard('event-catalogue.txt', normalised(await declarations.text()));
  });

  it('every help text is the same', async () => {
    const folder = new URL('../../docs/reference/', import.meta.url);
    const names = readdirSync(folder).filter((name) => name.startsWith('command-line'));
    const pages = names.map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n');
    const help = async (...words: string[]): Promise<string> => {
      const { status, stdout } = await sallyport(['help', ...words]);
      assert.equal(status, 0, words.join(' '));
      return stdout;
    };
    const asked = [[]] as string[][];
    for (const group of GROUPS) {
      asked.push([group.name], ...(await group.load()).map(({ name }) => name.split(' ')));
    }
    const others = new Map<string, string>();
    for (const words of asked) {
      const text = await help(...words);
      // The pages have the help of every command word for word, and a test compares them.
      if (!pages.includes(`\`\`\`text\n${text.trimEnd()}\n\`\`\`\n`)) others.set(words.join(' '), text);
    }
    guard('help-of-groups.txt', [...others].map(([words, text]) => `$ sallyport help ${words}\n${text}`).join('\n'));
  });
});
