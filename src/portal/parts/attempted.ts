/** Doing something on somebody's word: what was refused is said on the page it was asked from, not on one of its own. */
import { Refusal, type RefusalCode } from '../../kernel/refusal.ts';
import { type Redirect, redirectTo } from '../call.ts';
import { sentence } from './sentence.ts';

/** Redirects to `path` with `done`; where the work is refused to `otherwise` with the reason. What is not there stays 404, and what has changed since it was shown 412. */
export async function attempted(
  path: string,
  done: string,
  work: () => Promise<unknown>,
  otherwise: string = path,
): Promise<Redirect> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refusal) || OWN_PAGES.has(error.code)) throw error;
    return refusedTo(otherwise, error.message);
  }
  return redirectTo(path, done);
}

const OWN_PAGES: ReadonlySet<RefusalCode> = new Set(['not_found', 'precondition_failed']);

/** Back to a page, with the reason why what was asked for there was not done. */
export function refusedTo(path: string, reason: string): Redirect {
  return { redirect: path, flash: { tone: 'negative', text: sentence(reason) } };
}
