/**
 * What a form made, where that shows a secret: on a page of its own behind a redirect, so that loading it again sends no form again.
 * Kept in memory alone, for the session that sent the form, and forgotten after some minutes.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../kernel/ids.ts';
import { RESULT_MS, RESULTS_MAX } from '../kernel/limits/portal.ts';
import { type OpenCall, type PageCall, pathId, type Redirect, redirectTo, type View } from './call.ts';

/** The page, for whoever asks for it. */
export type Result = (call: PageCall) => View;

export type Results = {
  /**
   * Does the work of a form and leads to its result. A form that was sent twice, by a second press or from the browser's history, is
   * done once: the token in each form is another one. Rejects with what `work` does, after which the form may be sent again.
   */
  once(call: PageCall, work: () => Promise<Result>): Promise<Redirect>;
  /** The page that the redirect leads to; null where it is no longer kept, or was for another session. */
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

/** The same for the same form with the same content, sent to the same path by the same session. */
function idOf({ visitor, url, form }: OpenCall): string {
  return createHash('sha256')
    .update(JSON.stringify([visitor, url, form.toString()]))
    .digest('base64url');
}
