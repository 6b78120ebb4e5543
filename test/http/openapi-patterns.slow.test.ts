/** Patterns of the OpenAPI document, compiled and tested with Go's engine. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { patternsIn } from '../support/openapi-patterns.ts';
import { startDescribedService } from '../support/openapi-service.ts';
import { temporaryFolder } from '../support/service.ts';

const PROGRAM = fileURLToPath(new URL('../tools/patterns.go', import.meta.url));

/** Valid and invalid names, addresses and ids. */
const SAMPLES: readonly string[] = [
  '',
  ' ',
  'a',
  ' a',
  'a ',
  'a b',
  'A-1',
  'a.b',
  'a:b',
  'x-tenant',
  'GET',
  'get',
  '*',
  'order.*',
  'order.created',
  'jörg@müller.de',
  'a&b@example.com',
  'a@b',
  'a..b@c.de',
  '01a1fc79-c080-7000-8000-000000000001',
  'a\n',
  'a\tb',
  'https://a.example/b?c=d',
  'https://a.example#b',
  'http://a.example',
  '/a/{b}/{c*}',
  '/',
  '\u3000',
  '\u{1d49c}',
  '00112233445566778899aabbccddeeff',
  'employees:view',
  '2026-11-21T05:00:00.000Z',
  '2026-11-21',
];

it('Go compiles every pattern, and finds in the same texts what ECMAScript finds', async (t) => {
  const { document } = await startDescribedService(t);
  const patterns = patternsIn(document);
  const asked = join(temporaryFolder(t), 'patterns.json');
  writeFileSync(asked, JSON.stringify({ patterns, samples: SAMPLES }));
  const found = JSON.parse(execFileSync('go', ['run', PROGRAM, asked], { encoding: 'utf8' })) as boolean[][];
  const here = patterns.map((pattern) => SAMPLES.map((sample) => new RegExp(pattern, 'u').test(sample)));
  for (const [at, pattern] of patterns.entries()) assert.deepEqual(found[at], here[at], pattern);
});
