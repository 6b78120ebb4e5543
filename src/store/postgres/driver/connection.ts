/** A connection that is made when it is first needed, and made again after it was lost. */
import type { Route } from './route.ts';
import type { Session } from './session.ts';

export type Connection = {
  /** The open session, or null. */
  current(): Session | null;
  /** The open session, or a new one. Rejects if the server cannot be reached. */
  session(): Promise<Session>;
  close(): Promise<void>;
};

export function createConnection(route: Pick<Route, 'connect'>): Connection {
  let session: Session | null = null;
  let connecting: Promise<Session> | null = null;
  let isClosed = false;

  const current = (): Session | null => (session?.isOpen() === true ? session : null);
  const connect = async (): Promise<Session> => {
    try {
      session = await route.connect();
      if (isClosed) await session.end();
      return session;
    } finally {
      connecting = null;
    }
  };
  return {
    current,
    session: async () => {
      if (isClosed) throw new RangeError('the database is not open');
      const open = current();
      if (open !== null) return open;
      connecting ??= connect();
      return connecting;
    },
    close: async () => {
      isClosed = true;
      await connecting?.catch(() => undefined);
      await session?.end();
    },
  };
}
