/** A connection that is made when it is first needed, and made again after it was lost. */
import type { ServerRoute } from './route.ts';
import type { DatabaseSession } from './session.ts';

export type Connection = {
  /** The open session, or null. */
  current(): DatabaseSession | null;
  /** The open session, or a new one. Rejects if the server cannot be reached. */
  session(): Promise<DatabaseSession>;
  close(): Promise<void>;
};

export function createConnection(route: Pick<ServerRoute, 'connect'>): Connection {
  let session: DatabaseSession | null = null;
  let connecting: Promise<DatabaseSession> | null = null;
  let isClosed = false;

  const current = (): DatabaseSession | null => (session?.isOpen() === true ? session : null);
  const connect = async (): Promise<DatabaseSession> => {
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
