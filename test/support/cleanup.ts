/** Ends what a test began, the last thing first: what uses something is gone before it. (`t.after` alone keeps the order.) */
import type { TestContext } from 'node:test';

type Work = () => unknown;

const pending = new WeakMap<TestContext, Work[]>();

/** Has `work` done when the test ends, also where ending something else fails. */
export function cleanUp(t: TestContext, work: Work): void {
  const works = pending.get(t);
  if (works === undefined) {
    const begun = [work];
    pending.set(t, begun);
    t.after(() => endAll(begun));
  } else {
    works.push(work);
  }
}

async function endAll(works: readonly Work[]): Promise<void> {
  const failures: unknown[] = [];
  for (const work of works.toReversed()) {
    try {
      await work();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
