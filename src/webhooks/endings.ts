/**
 * How refusals end: the step that helps, as a request of the API, a button of the portal or a command. Programs of customers and people of
 * customers read the first two.
 */

import { STATE_REASONS, type StopReason } from '../domain/webhook-states.ts';
import type { Ending } from '../kernel/refusal.ts';

type Named = { readonly id: string; readonly name: string };

/** For what needs a verified endpoint. */
export function verifyFirst({ id, name }: Named): Ending {
  return {
    api: `; verify it first: POST /endpoints/${id}/verify`,
    portal: `; open the endpoint ${name} and press “Verify now”`,
    command: `; verify it first: sallyport endpoint verify ${id}`,
  };
}

/** For what needs an enabled endpoint. */
export function enableFirst({ id, name }: Named): Ending {
  return {
    api: `; enable it first: PATCH /endpoints/${id}`,
    portal: `; open the endpoint ${name} and press “Enable”`,
    command: `; enable it first: sallyport endpoint update ${id} --fields '{"enabled":true}'`,
  };
}

/** For an endpoint without authentication. */
export function setAuthentication(endpointId: string): Ending {
  return {
    api: `: set it with PATCH /endpoints/${endpointId}`,
    portal: ': set it with “Change”',
    command: `: set it with sallyport endpoint update ${endpointId}`,
  };
}

/** For a stopped webhook in mode `pull`. */
export function startFirst(webhookId: string): Ending {
  return {
    api: `: its records wait until it is started (POST /webhooks/${webhookId}/start)`,
    portal: ': its records wait until you press “Start”',
    command: `: its records wait until it is started (sallyport webhook start ${webhookId})`,
  };
}

/** For a webhook in mode `pull`, which sends nothing again. */
export const READ_AGAIN: Ending = {
  api: ': read its records with GET /webhooks/{id}/records?after=',
  portal: ': its reader can read the records again',
  command: ': its reader can read the records again',
};

/** The state that nothing is sent in. Programs know it by its name. */
export function sendsNothing(reason: StopReason): Ending {
  const named = `: ${reason}. ${STATE_REASONS[reason]}`;
  return { api: named, portal: `. ${STATE_REASONS[reason]}`, command: named };
}
