import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { receiverFile } from '../support/receiver-programs.ts';
import { requestVectors } from '../support/vectors.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'docs', 'receivers');
const page = readFileSync(join(folder, 'README.md'), 'utf8');
const files = readdirSync(folder).filter((name) => name !== 'README.md');
const programs = files.map((name): [string, string] => [name, readFileSync(receiverFile(name), 'utf8')]);

describe('docs/receivers', () => {
  it('has a page that lists exactly the programs', () => {
    const listed = [...page.matchAll(/^\| \[([^\]]+)\]\(\1\) \|/gm)].map(([, name]) => name);
    assert.deepEqual(listed.sort(), files.sort());
    const links = [...page.matchAll(/\]\((\.[^)#]+)\)/g)].map(([, path = '']) => path);
    assert.ok(links.length > 0);
    for (const link of links) readFileSync(join(folder, link));
  });

  it('lists exactly the settings that programs read', () => {
    const read = programs.flatMap(([, text]) => text.match(/WEBHOOK_[A-Z_]+[A-Z]/g) ?? []);
    const named = [...page.matchAll(/`(WEBHOOK_[A-Z_]+)`/g)].map(([, name = '']) => name);
    assert.deepEqual([...new Set(named)].sort(), [...new Set(read)].sort());
  });

  it('lists the codes of refusals with their statuses', () => {
    const rows = [...page.matchAll(/^\| \d+ \| .* \| (.*) \| ([\d, ]+) \|$/gm)];
    const named = rows.flatMap(([, codes = '', statuses = '']) => {
      const list = statuses.split(', ');
      return [...codes.matchAll(/`(\w+)`/g)]
        .filter(([, code]) => code !== 'handle')
        .map(([, code], index) => `${code} ${list[index] ?? list[0]}`);
    });
    const decided = requestVectors.requests.flatMap((vector) =>
      vector.refused === undefined || vector.standardWebhooks ? [] : [`${vector.refused} ${vector.status}`],
    );
    const elsewhere = ['no_decryption 500', 'length_required 411', 'body_incomplete 400'];
    assert.deepEqual([...new Set(named)].sort(), [...new Set([...decided, ...elsewhere])].sort());
  });

  for (const [name, text] of programs) {
    it(`${name} marks its verification`, () => {
      const [, code = '', ...more] = text.split(/^ *(?:#|\/\/) verify:(?:begin|end)$/m);
      assert.equal(more.length, 1);
      for (const word of ['HMAC-SHA256 ', 'x-content-sha256', 'wrong_signature', 'wrong_content_hash']) {
        assert.ok(code.includes(word), word);
      }
    });
  }
});

describe('the vectors', () => {
  it('are the output of scripts/make-vectors.py', () => {
    execFileSync('python3', [join(root, 'scripts', 'make-vectors.py'), '--check'], { stdio: 'pipe' });
  });
});
