/**
 * A receiver for development on this machine, announced to the server of a data folder by a file in that folder. While it listens, the
 * server sends to `https://localhost:<port>` and trusts its certificate, so no setting and no restart is needed. Only a user who may write
 * into the data folder can announce one.
 */
import { readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { ANNOUNCED_MS, ANNOUNCED_REFRESH_MS } from '../kernel/limits/listen.ts';
import { writePrivateFile } from '../kernel/private-file.ts';

/** Announces the receiver on `port` until `end` is called, or until its process ends. `certificate` is in PEM. */
export function announceReceiver(dataDir: string, port: number, certificate: string): { end(): void } {
  const path = fileOf(dataDir, port);
  writePrivateFile(path, certificate);
  const refresh = setInterval(() => {
    const now = new Date();
    try {
      utimesSync(path, now, now);
    } catch {
      // The folder may be gone: the announcement is then over too.
    }
  }, ANNOUNCED_REFRESH_MS);
  return {
    end: () => {
      clearInterval(refresh);
      rmSync(path, { force: true });
    },
  };
}

/** The certificate of the receiver that is announced for a port, in PEM; null without one. `now` is in epoch milliseconds. */
export function announcedCertificate(dataDir: string, port: number, now: number): string | null {
  const path = fileOf(dataDir, port);
  try {
    // A killed process leaves the file behind, but no longer refreshes it.
    return now - statSync(path).mtimeMs > ANNOUNCED_MS ? null : readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function fileOf(dataDir: string, port: number): string {
  return join(dataDir, `listen-${port}.pem`);
}
