import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entityTag } from '../../src/resources/entity-tag.ts';

describe('an entity tag', () => {
  const many = Array.from({ length: 2000 }, (_, n) => entityTag({ n }));

  it('differs for different resources, and is the same whenever a resource was used last', () => {
    assert.equal(new Set(many).size, many.length);
    assert.equal(entityTag({ n: 1, lastUsedAt: 'yesterday' }), entityTag({ n: 1, lastUsedAt: null }));
  });

  it('can be a value on a command line without its quotes: it never begins with a dash', () => {
    for (const tag of many) assert.match(tag, /^"\w[\w-]{21}"$/);
    assert.ok(many.some((tag) => tag.startsWith('"_')));
  });
});
