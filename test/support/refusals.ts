/** Assertions about refused requests. */
import assert from 'node:assert/strict';
import { Refusal, type RefusalCode, saidAt } from '../../src/kernel/refusal.ts';

export type Expected = {
  readonly code: RefusalCode;
  /** The fields named in the details, in order. */
  readonly fields?: readonly string[];
  /** Text that the description in the API must contain. */
  readonly says?: string | RegExp;
};

/** Returns the refusal that `work` throws. Fails with the actual result if it is another or none. */
export async function refused(work: () => unknown, expected: Expected): Promise<Refusal> {
  const refusal = await refusalOf(work);
  const { code } = refusal;
  const { message, details } = saidAt('api', refusal);
  const shown = JSON.stringify({ code, message, details });
  assert.equal(code, expected.code, shown);
  if (expected.fields !== undefined) {
    assert.deepEqual(details?.map(({ field }) => field) ?? [], expected.fields, shown);
    if (expected.fields[0] !== undefined) assert.ok(message.includes(expected.fields[0]), shown);
  }
  if (typeof expected.says === 'string') assert.ok(message.includes(expected.says), shown);
  else if (expected.says !== undefined) assert.match(message, expected.says);
  return refusal;
}

async function refusalOf(work: () => unknown): Promise<Refusal> {
  let result: unknown;
  try {
    result = await work();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  return assert.fail(`not refused: ${JSON.stringify(result)}`);
}
