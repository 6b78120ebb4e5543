/**
 * Results of forms that show a secret. Each has a page of its own behind a redirect, so that a reload does not send the form again.
 * They are kept in memory for the session that sent the form, for a few minutes.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../kernel/ids.ts';
import { RESULT_MS, RESULTS_MAX } from '../kernel/limits/portal.ts';
import { type OpenCall, type PageCall, pathId, type Redirect, redirectTo, type View } from './call.ts';

/** The page of a result. */
export type Result = (call: PageCall) => View;

export type Results = {
  /**
   * Does the work of a form and redirects to its result. A form that is sent twice, by a second click or from the history, is processed
   * once: each form has its own token. Rejects with the error of `work`; the form may then be sent again.
   */
  once(call: PageCall, work: () => Promise<Result>): Promise<Redirect>;
  /** The page of the result; null if it is no longer kept, or belongs to another session. */
  find(call: PageCall): Promise<View | null>;
};

export const RESULTS_PATH = '/results';

type Kept = { readonly result: Promise<Result>; readonly visitor: string; readonly until: number };

export function createResults(clock: Clock): Results {
  /** Oldest first. */
  const kept = new Map<string, Kept>();

  const makeRoom = (now: number): void => {
    for (const [id, { until }] of kept) {
      if (until > now && kept.size < RESULTS_MAX) return;
      kept.delete(id);
    }
  };
  const isKept = (one: Kept | undefined): one is Kept => one !== undefined && one.until > clock();
  return {
    once: async (call, work) => {
      const id = idOf(call);
      let mine = kept.get(id);
      if (!isKept(mine)) {
        makeRoom(clock());
        mine = { result: work(), visitor: call.visitor, until: clock() + RESULT_MS };
        kept.set(id, mine);
      }
      try {
        await mine.result;
      } catch (error) {
        if (kept.get(id) === mine) kept.delete(id);
        throw error;
      }
      return redirectTo(`${RESULTS_PATH}/${id}`);
    },
    find: async (call) => {
      const one = kept.get(pathId(call));
      return isKept(one) && one.visitor === call.visitor ? (await one.result)(call) : null;
    },
  };
}

/** Identifies a form by its session, path and content. */
function idOf({ visitor, url, form }: OpenCall): string {
  return createHash('sha256')
    .update(JSON.stringify([visitor, url, form.toString()]))
    .digest('base64url');
}
