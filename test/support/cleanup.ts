/** Cleans up after a test in reverse order, so that users of a resource end before it. (`t.after` runs in order of registration.) */
import type { TestContext } from 'node:test';

type Work = () => unknown;

const pending = new WeakMap<TestContext, Work[]>();

/** Runs `work` when the test ends, even if other clean-up fails. */
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

const atExit = new Set<() => void>();
let isListening = false;

/** The same for work that must not outlast this process, for example a server that runs by itself: also if the process ends before. */
export function cleanUpAlways(t: TestContext, work: () => void): void {
  if (!isListening) process.once('exit', () => void endAtExit());
  isListening = true;
  atExit.add(work);
  cleanUp(t, () => {
    atExit.delete(work);
    work();
  });
}

function endAtExit(): void {
  for (const work of [...atExit].toReversed()) {
    try {
      work();
    } catch (error) {
      process.stderr.write(`${String(error)}\n`);
    }
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
