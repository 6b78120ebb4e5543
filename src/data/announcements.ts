/**
 * Files in the data folder by which its server and the commands beside it find each other. Only a user who may write into the folder can
 * make them. The process that made one refreshes it, so that it expires soon after the process is killed.
 *
 * A receiver for development announces its certificate: the server then sends to `https://localhost:<port>` and trusts it there. A server
 * announces its settings: commands then send as the server does, whatever their own environment says.
 */
import { readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, settingText, withSettings } from '../config/config.ts';
import { OUTBOUND_NAMES } from '../config/names.ts';
import { randomBytes } from '../kernel/ids.ts';
import { createLru } from '../kernel/lru.ts';
import { writePrivateFile } from '../kernel/private-file.ts';
import { createVault, type Vault } from '../kernel/vault.ts';
import { masterKeyPath } from './data.ts';
import { readMasterKey } from './master-key.ts';

/** An announced receiver refreshes its announcement this often. Without a refresh the announcement ends after the longer time. */
const ANNOUNCED_REFRESH_MS = 5000;
export const ANNOUNCED_MS = 15_000;

/** For this long, the server reuses its latest look at an announcement. */
const LOOKED_AT_MS = 5;
/** Ports on this machine whose latest look is kept. */
const PORTS_MAX = 64;

/** `end` removes the announcement. */
export type Announcement = { end(): void };

/** Announces the receiver on `port`. `certificate` is in PEM. */
export function announceReceiver(dataDir: string, port: number, certificate: string): Announcement {
  return announce(receiverFile(dataDir, port), certificate);
}

/** The certificate of the receiver that is announced for a port, in PEM; null without one. `now` is in epoch milliseconds. */
export function announcedCertificate(dataDir: string, port: number, now: number): string | null {
  return announced(receiverFile(dataDir, port), now);
}

/**
 * Returns the same function for the server, which asks for each delivery. A look takes 5 µs, a twentieth of a delivery, so it serves all
 * deliveries of `LOOKED_AT_MS`.
 */
export function announcedReceivers(dataDir: string): (port: number, now: number) => string | null {
  const looks = createLru<number, { readonly at: number; readonly certificate: string | null }>({ max: PORTS_MAX });
  return (port, now) => {
    const latest = looks.get(port);
    if (latest !== undefined && Math.abs(now - latest.at) < LOOKED_AT_MS) return latest.certificate;
    const certificate = announcedCertificate(dataDir, port, now);
    looks.set(port, { at: now, certificate });
    return certificate;
  };
}

/** The settings are sealed, because the proxy's URL may hold a password. */
type AnnouncedServer = { readonly masterKeyFile: string | null; readonly sealed: string };

const SEALED_AS = 'server.settings';

/** Announces the settings with which the process that delivers sends. `url`: the public address; null if it is unknown. */
export function announceServer(config: Config, url: string | null, vault: Pick<Vault, 'seal'>): Announcement {
  const { dataDir, masterKeyFile } = config;
  const sent = OUTBOUND_NAMES.map((name) => [name, settingText(config, name)]);
  const settings = { ...Object.fromEntries(sent), ...(url !== null && { publicUrl: url }) };
  const sealed = Buffer.from(vault.seal(JSON.stringify(settings), SEALED_AS)).toString('base64');
  return announce(serverFile(dataDir), JSON.stringify({ masterKeyFile, sealed } satisfies AnnouncedServer));
}

/**
 * The configuration of a command: with the settings of the server of its folder if one is announced, except for settings given as flags.
 */
export function besideServer(config: Config, now: number): Config {
  // Several servers may use a database, and none of them is the one beside this command.
  if (config.databaseUrl !== null) return config;
  const text = announced(serverFile(config.dataDir), now);
  if (text === null) return config;
  const { masterKeyFile, sealed } = JSON.parse(text) as AnnouncedServer;
  const withKey = withSettings(config, { masterKeyFile });
  const verdict = readMasterKey(masterKeyPath(withKey));
  // Opening the folder reports the problem with the key.
  if (!verdict.ok) return withKey;
  try {
    const settings = createVault(verdict.key, randomBytes).unseal(Buffer.from(sealed, 'base64'), SEALED_AS);
    return withSettings(withKey, JSON.parse(settings));
  } catch {
    // The key was rotated since the server was killed.
    return config;
  }
}

function announce(path: string, text: string): Announcement {
  writePrivateFile(path, text);
  const refresh = setInterval(() => {
    const now = new Date();
    try {
      utimesSync(path, now, now);
    } catch {
      // The folder may be gone: the announcement is then over too.
    }
  }, ANNOUNCED_REFRESH_MS).unref();
  return {
    end: () => {
      clearInterval(refresh);
      rmSync(path, { force: true });
    },
  };
}

function announced(path: string, now: number): string | null {
  try {
    // Every request to `localhost` looks. Making an error for a missing file takes 7 µs more (bench:compare, "deliver a record").
    const stats = statSync(path, { throwIfNoEntry: false });
    // A killed process leaves the file behind, but no longer refreshes it.
    const isOver = stats === undefined || now - stats.mtimeMs > ANNOUNCED_MS;
    return isOver ? null : readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function receiverFile(dataDir: string, port: number): string {
  return join(dataDir, `listen-${port}.pem`);
}

function serverFile(dataDir: string): string {
  return join(dataDir, 'server.json');
}
