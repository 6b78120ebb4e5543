/** The report of the server on each answered request. */
import type { RefusalCode } from '../kernel/refusal.ts';

/** How a route is counted: a request for a token, or a call of the API. */
export type Metered = 'token' | 'call';

/**
 * A request with its reply. `route`: its pattern, null for an unknown path. `metered`: as its route says. `refusal`: the code of its
 * refusal.
 */
export type ObserveRequest = (request: {
  readonly route: string | null;
  readonly metered: Metered | null;
  readonly method: string;
  readonly status: number;
  readonly refusal: RefusalCode | null;
  readonly seconds: number;
}) => void;
