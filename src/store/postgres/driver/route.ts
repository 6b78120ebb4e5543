/**
 * The way to the server that can be written. While there is none, everything that needs a connection is refused immediately, and one loop
 * tries to connect. So an outage ends a quarter of a second after the server is back, or after a standby was promoted.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { connectFirst, within } from './connect.ts';
import { POSTGRES_RECONNECT_MS, POSTGRES_REFUSED_MS } from './limits.ts';
import type { DatabaseSession } from './session.ts';
import type { ConnectionPlan } from './url.ts';

/** How long a read or a write waits for a connection. The attempt continues. */
const POSTGRES_CONNECT_WAIT_MS = 1800;

export type ServerRoute = {
  /** Makes the session that `connect` will return first. Rejects when the time limit of an attempt has passed. */
  open(): Promise<void>;
  /** A new session. Rejects immediately during an outage, and after `POSTGRES_CONNECT_WAIT_MS` times `patience`. */
  connect(): Promise<DatabaseSession>;
  /** A new session that is no evidence of an outage. */
  probe(): Promise<DatabaseSession>;
  /** Begins an outage. */
  lost(reason: Error): void;
  close(): Promise<void>;
};

type RouteOptions = {
  /** Read again before each attempt, because files that it names may change. Throws `DatabaseUrlError`. */
  readonly plan: () => ConnectionPlan;
  readonly prepares: boolean;
  /** 1 where requests wait, more for a thread of low priority. */
  readonly patience: number;
};

export function createRoute({ plan, prepares, patience }: RouteOptions): ServerRoute {
  let outage: Error | null = null;
  /** The session that ended an outage, for the next caller. */
  let spare: DatabaseSession | null = null;
  let isClosed = false;

  /** The schema of the first session. A change of the search path would divide the tables among two schemas. */
  let schema: string | null = null;
  const attempt = async (): Promise<DatabaseSession> => {
    const session = await connectFirst(plan(), { prepares, schema });
    schema ??= session.schema;
    return session;
  };
  const recover = async (): Promise<void> => {
    while (!isClosed && outage !== null) {
      const pauseMs = isRefusal(outage) ? POSTGRES_REFUSED_MS : POSTGRES_RECONNECT_MS;
      await pause(pauseMs, undefined, { ref: false });
      try {
        spare = await attempt();
        outage = null;
      } catch (error) {
        outage = error as Error;
      }
    }
    if (isClosed) await spare?.end();
  };
  const lost = (reason: Error): void => {
    const isNew = outage === null;
    outage = reason;
    if (isNew) void recover();
  };
  const connect = async (): Promise<DatabaseSession> => {
    if (outage !== null) throw outage;
    const found = spare;
    spare = null;
    if (found?.isOpen() === true) return found;
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error as Error)) lost(error as Error);
      throw error;
    }
  };

  return {
    open: async () => keep(await attempt()),
    connect: async () => {
      const connecting = connect();
      try {
        return await within(POSTGRES_CONNECT_WAIT_MS * patience, () => connecting);
      } catch (error) {
        // It may still succeed, for the next caller.
        connecting.then(keep, () => undefined);
        throw error;
      }
    },
    probe: attempt,
    lost,
    close: async () => {
      isClosed = true;
      await spare?.end();
    },
  };

  async function keep(session: DatabaseSession): Promise<void> {
    if (isClosed || spare?.isOpen() === true) return session.end();
    spare = session;
  }
}

/** The server answered and refused the role: soon asked again, it would only fill its log. */
function isRefusal({ code }: Error & { readonly code?: string }): boolean {
  return code?.startsWith('28') === true || code === '3D000' || code === '42501';
}

/** The server has no connection left, but the connections of this process are good. */
function isBusy({ code }: Error & { readonly code?: string }): boolean {
  return code?.startsWith('53') === true;
}
