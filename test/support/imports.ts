/** A running server into which an export was imported, and a receiver that keeps every request. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Folder, initialised, reachableReceiver } from './command-folder.ts';
import type { SeenRequest } from './https-server.ts';
import { createMailbox } from './mailbox.ts';
import { startService } from './service.ts';

export type Imported = Folder & {
  /** The path of a file with this JSON. */
  file(given: unknown): string;
  /** The URL of the receiver. */
  readonly url: string;
  /** The next request to the receiver. */
  next(): Promise<SeenRequest>;
  /** How many requests came so far. */
  seen(): number;
};

/** `database`: settings of a PostgreSQL database. */
export async function importing(t: TestContext, database: Readonly<Record<string, string>> = {}): Promise<Imported> {
  const { receiver, env } = await reachableReceiver(t);
  const settings = { ...env, SALLYPORT_CUSTOMER_EGRESS_ALLOW: env.SALLYPORT_EGRESS_ALLOW ?? '', ...database };
  const folder = await initialised(t, settings);
  await startService(t, { after: folder, env: settings });
  const came = createMailbox<SeenRequest>('a request');
  receiver.route('/in', (request) => {
    came.put(request);
    return { status: 204 };
  });
  let files = 0;
  return {
    ...folder,
    file: (given) => {
      files += 1;
      const path = join(dirname(folder.dataDir), `export-${files}.json`);
      writeFileSync(path, JSON.stringify(given));
      return path;
    },
    url: `${receiver.origin}/in`,
    next: came.take,
    seen: () => receiver.requests.length,
  };
}

/** Runs the import, which must refuse nothing, and returns what it printed. */
export async function imported({ run }: Folder, args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await run(['import', ...args]);
  assert.equal(status, 0, stderr + stdout);
  return stdout;
}
