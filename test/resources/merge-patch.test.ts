import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { mergePatch } from '../../src/kernel/validation.ts';

describe('mergePatch', () => {
  // RFC 7396, Appendix A: original, patch, result.
  const examples = [
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ] as const;
  for (const [original, patch, result] of examples) {
    it(`makes ${result} of ${original} by ${patch}`, () => {
      assert.deepEqual(mergePatch(JSON.parse(original), JSON.parse(patch)), JSON.parse(result));
    });
  }

  const json = fc.jsonValue({ maxDepth: 4 });

  it('leaves the target and the patch unchanged', () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const [targetBefore, patchBefore] = [JSON.stringify(target), JSON.stringify(patch)];
        mergePatch(target, patch);
        assert.equal(JSON.stringify(target), targetBefore);
        assert.equal(JSON.stringify(patch), patchBefore);
      }),
    );
  });

  it('gives the same result if the same patch is applied twice', () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const once = mergePatch(target, patch);
        assert.equal(JSON.stringify(mergePatch(once, patch)), JSON.stringify(once));
      }),
    );
  });

  for (const name of ['__proto__', 'constructor', 'toString']) {
    it(`treats a member named ${name} as any other member`, () => {
      const patch = JSON.parse(`{"${name}":{"polluted":true}}`);
      const merged = mergePatch({}, patch) as object;
      assert.equal(JSON.stringify(merged), JSON.stringify(patch));
      assert.equal(Object.getPrototypeOf(merged), Object.prototype);
      assert.equal(({} as { polluted?: boolean }).polluted, undefined);
      assert.equal(JSON.stringify(mergePatch(merged, JSON.parse(`{"${name}":null}`))), '{}');
    });
  }
});
