import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = read('docs/receiver-reference.md');

/** The first cells of the table under a heading. */
function cellsUnder(heading: string): string[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const rows = section.split('\n## ', 1)[0]?.matchAll(/^\| `([^`]+)` \|/gm) ?? [];
  return [...rows].map(([, cell = '']) => cell);
}

describe('docs/receiver-reference.md', () => {
  it('lists exactly the codes of refusals', () => {
    const sources = [
      'src/receiver/refusals.ts',
      ...[
        'delivery-verification',
        'envelope',
        'event-reading',
        'payload-decoding',
        'standard-webhooks-verification',
      ].map((name) => `src/wire/${name}.ts`),
    ];
    const unions = sources.flatMap((source) => [
      ...read(source).matchAll(/(?:export )?type \w*(?:Failure|Refusal)Code =([^;]*);/g),
    ]);
    const codes = unions.flatMap(([, union = '']) => [...union.matchAll(/'(\w+)'/g)].map(([, code = '']) => code));
    assert.ok(codes.length > 30);
    assert.deepEqual(cellsUnder('Why a request is refused').sort(), [...new Set(codes)].sort());
  });

  it('lists exactly the options', () => {
    const source = read('src/receiver/options.ts');
    const types = [...source.matchAll(/export type (?:Verify|Receiver)Options[^=]*= [^{]*\{([\s\S]*?)\n\}/g)];
    const options = types.flatMap(([, members = '']) =>
      [...members.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name]) => name),
    );
    assert.ok(options.length > 10);
    const documented = cellsUnder('The options').map((cell) => cell.replace(/\(.*/, ''));
    assert.deepEqual(documented.sort(), options.sort());
  });
});
