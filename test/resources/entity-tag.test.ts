import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entityTag, parseEntityTags, versionTags } from '../../src/resources/entity-tag.ts';

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

describe('the entity tag of a version', () => {
  const ids = ['01936f5e-0000-7000-8000-000000000000', '01936f5e-0000-7000-8000-000000000001'] as const;

  it('differs for another version, another record and other fields, and is one strong tag that is a value on a command line', () => {
    const tags = [
      { id: '', name: '' },
      { id: '', title: '' },
    ].flatMap((fields) =>
      ids.flatMap((id) => [1_800_000_000_000, 1_800_000_000_001].map((version) => versionTags(fields)(id, version))),
    );
    assert.equal(new Set(tags).size, 8);
    for (const tag of tags) {
      assert.match(tag, /^"[a-z0-9][a-z0-9.]+"$/);
      assert.deepEqual(parseEntityTags(tag), [tag]);
    }
  });

  it('is the same for the same version', () => {
    assert.equal(versionTags({ a: 1 })(ids[0], 5), versionTags({ a: 2 })(ids[0], 5));
  });
});
