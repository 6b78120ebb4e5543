/**
 * Results of forms that show a secret. Each has a page of its own behind a redirect, so that a reload does not send the form again.
 * The pages are kept for the session that sent the form, for a few minutes. On PostgreSQL every instance shows them. The first visit
 * shows the secret and removes it; later ones show the page without it.
 */

import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Html, storedHtml } from '../../http/html.ts';
import type { Clock } from '../../kernel/ids.ts';
import type { ShortLivedValues } from '../../store/port/short-lived.ts';
import type { Showing } from '../parts/details.ts';
import { RESULT_MS } from '../parts/limits.ts';
import { isVisit } from './browser.ts';
import { type OpenCall, type PageCall, pathId, type Redirect, redirectTo, type View } from './call.ts';

/** How long a form that another instance processes keeps a repeat of it waiting, and how often the repeat looks. */
const RESULT_WORK_MS = 60_000;
const RESULT_LOOK_MS = 100;

/** The page of a result: `first` with its secret, `later` in place of it after the first visit. */
export type Result = { readonly title: string; readonly first: Html; readonly later: Html };

/** Draws both pages of a result. */
export function resultOf(title: string, draw: (showing: Showing) => Html): Result {
  return { title, first: draw('first'), later: draw('later') };
}

export type Results = {
  /**
   * Does the work of a form and redirects to its result. A form that is sent twice, by a second click or from the history, is processed
   * once: each form has its own token. Rejects with the error of `work`; the form may then be sent again.
   */
  once(call: PageCall, work: () => Promise<Result>): Promise<Redirect>;
  /**
   * The page of the result; null if it is no longer kept, or belongs to another session. Of several visits, even
   * concurrent ones on several instances, one gets the secret.
   */
  find(call: PageCall): Promise<View | null>;
};

export const RESULTS_PATH = '/results';

/** The value of a form while it is processed. Instances of an earlier version read and write the same one. */
const IN_PROGRESS = 'under way';

/** `about`: the path of the form. Earlier versions kept none. */
type Kept = { readonly visitor: string; readonly title: string; readonly later: string; readonly about?: string };

/** `secrets` has the markup of first pages under the ids of their results. */
type Values = { readonly results: ShortLivedValues; readonly secrets: ShortLivedValues };

export function createResults(clock: Clock, { results: values, secrets }: Values): Results {
  /** The forms that this process works on, so that a second one of them gets the same error. */
  const inProgress = new Map<string, Promise<void>>();

  /** Whether this call is to do the work. Waits while another instance does it. */
  const begin = async (id: string): Promise<boolean> => {
    for (;;) {
      const now = clock();
      if (await values.putIfAbsent(id, IN_PROGRESS, { now, until: now + RESULT_WORK_MS })) return true;
      const result = await values.get(id, clock());
      if (result !== null && result !== IN_PROGRESS) return false;
      if (result !== null) await pause(RESULT_LOOK_MS);
    }
  };
  const process = async (id: string, { visitor, url }: PageCall, work: () => Promise<Result>): Promise<void> => {
    if (!(await begin(id))) return;
    try {
      const { title, first, later } = await work();
      const kept: Kept = { visitor, title, later: later.markup, about: url.split('?', 1)[0] ?? url };
      const now = clock();
      const span = { now, until: now + RESULT_MS };
      // The secret first: with a result, the page must not say that it was shown before.
      await secrets.put(id, first.markup, span);
      await values.put(id, JSON.stringify(kept), span);
    } catch (error) {
      // If this fails too, the form may be sent again after RESULT_WORK_MS.
      await Promise.resolve(values.take(id, clock())).catch(() => undefined);
      throw error;
    }
  };
  return {
    once: async (call, work) => {
      const id = idOf(call);
      let mine = inProgress.get(id);
      if (mine === undefined) {
        mine = process(id, call, work).finally(() => inProgress.delete(id));
        inProgress.set(id, mine);
      }
      await mine;
      return redirectTo(`${RESULTS_PATH}/${id}`);
    },
    find: async (call) => {
      const id = pathId(call);
      const found = await values.get(id, clock());
      if (found === null || found === IN_PROGRESS) return null;
      const { visitor, title, later, about } = JSON.parse(found) as Kept;
      if (visitor !== call.visitor) return null;
      const first = isVisit(call.request) ? await secrets.take(id, clock()) : null;
      return { title, content: storedHtml(first ?? later), ...(about !== undefined && { about }) };
    },
  };
}

/** Identifies a form by its session, path and content. */
function idOf({ visitor, url, form }: OpenCall): string {
  return createHash('sha256')
    .update(JSON.stringify([visitor, url, form.toString()]))
    .digest('base64url');
}
