/** Actions of a button. A refusal is shown on the page with the button, not on a page of its own. */
import { Refusal, type RefusalCode } from '../../kernel/refusal.ts';
import { type Redirect, redirectTo } from '../call.ts';
import { sentence } from './sentence.ts';

/** Redirects to `path` with `done`, or to `otherwise` with the reason of a refusal. 404 and 412 stay. */
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

/** Redirects to a page with the reason of a refusal. */
export function refusedTo(path: string, reason: string): Redirect {
  return { redirect: path, flash: { tone: 'negative', text: sentence(reason) } };
}
