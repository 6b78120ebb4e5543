/** The checks of `sallyport doctor` on files: owners, permissions, disk space, certificates and the master key. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { accessSync, constants, readdirSync, type StatsFs, statfsSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Config, readSettingFile } from '../../config/config.ts';
import { masterKeyPath } from '../../data/data.ts';
import { DATABASE_FILE, databaseFiles, FIRST_START_FILE } from '../../data/data-folder.ts';
import { LOCK_FILE } from '../../data/folder-lock.ts';
import { readMasterKey } from '../../data/master-key.ts';
import { exposedMode, fileOwner, userText } from '../../kernel/private-file.ts';
import { readAuthorities } from '../../outbound/tls.ts';
import { type Finding, finding, judgeExpiry, ok, problem, warning } from './finding.ts';

/** Free disk space: a warning below the first, a problem below the second. */
const DISK_FREE_LOW_BYTES: number = 1024 * 1024 * 1024;
const DISK_FREE_MIN_BYTES: number = 100 * 1024 * 1024;

/** The same for the files (inodes) that the file system can still hold. */
const FILES_FREE_LOW = 10_000;
const FILES_FREE_MIN = 100;

export async function examineFiles(config: Config, now: number): Promise<Finding[]> {
  if (config.databaseUrl !== null)
    return [
      await finding('master key', () => examineMasterKey(config)),
      ...(await examineCertificateFiles(config, now)),
    ];
  return [
    await finding('data folder', () => examineFolder(config)),
    await finding('file owners', () => examineOwners(config)),
    await finding('file permissions', () => examinePermissions(config)),
    await finding('master key', () => examineMasterKey(config)),
    await finding('disk space', () => examineDisk(config)),
    ...(await examineCertificateFiles(config, now)),
  ];
}

async function examineCertificateFiles(config: Config, now: number): Promise<Finding[]> {
  return [
    ...(config.caFile === null ? [] : [await finding('CA file', () => examineAuthorities(config.caFile ?? '', now))]),
    ...(config.tlsCertFile === null ? [] : [await finding('TLS certificate', () => examineTls(config, now))]),
  ];
}

function examineFolder({ dataDir }: Config): Finding {
  const stat = statSync(dataDir, { throwIfNoEntry: false });
  if (stat === undefined)
    return problem('data folder', `${dataDir} does not exist: run sallyport init or sallyport serve`);
  if (!stat.isDirectory()) return problem('data folder', `${dataDir} is not a folder`);
  accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  return ok('data folder', dataDir);
}

/** The permissions of the key file are checked with the key. */
function examinePermissions(config: Config): Finding {
  const check = 'file permissions';
  const files = databaseFiles(config).filter((path) => path !== config.dataDir && exists(path));
  const exposed = files.filter((path) => exposedMode(path) !== null);
  if (exposed.length > 0) {
    const list = exposed.join(' ');
    return problem(check, `other users can access ${list}; run: chmod 600 ${list}`);
  }
  const mode = exists(config.dataDir) ? exposedMode(config.dataDir) : null;
  if (mode === null) return ok(check, 'only the owner can access the data');
  const advice = `other users can access the folder ${config.dataDir} (mode ${mode}); run: chmod 700 ${config.dataDir}`;
  return /[2367]/.test(mode.slice(-2)) ? problem(check, advice) : warning(check, advice);
}

/**
 * The service runs as the owner of the folder, and may not be able to open files of other users. A file that is not part of the data,
 * such as a backup, is a warning only.
 */
function examineOwners(config: Config): Finding {
  const check = 'file owners';
  const { dataDir } = config;
  const owner = fileOwner(dataDir);
  if (owner === null) return warning(check, `the owner of ${dataDir} cannot be determined`);
  const strangers = readdirSync(dataDir)
    .sort()
    .flatMap((name) => {
      const path = join(dataDir, name);
      const uid = fileOwner(path)?.uid ?? owner.uid;
      return uid === owner.uid ? [] : [{ path, uid, isService: isServices(config, name) }];
    });
  if (strangers.length === 0) return ok(check, `everything belongs to the owner of the folder, ${userText(owner.uid)}`);
  const list = strangers.map(({ path }) => path).join(' ');
  const owned = strangers.map(({ path, uid }) => `${path} belongs to ${userText(uid)}`).join(', ');
  const advice = `run as root: chown ${owner.uid}:${owner.gid} ${list}`;
  // A mounted volume may belong to root and contain the files of the service.
  const [other] = new Set(strangers.map(({ uid }) => uid));
  const instead =
    owner.uid === 0 ? `, or, if the service runs as ${userText(other ?? 0)}: chown ${other} ${dataDir}` : '';
  const text = `${owned}, the folder to ${userText(owner.uid)}; ${advice}${instead}`;
  return strangers.some(({ isService }) => isService) ? problem(check, text) : warning(check, text);
}

function isServices(config: Config, name: string): boolean {
  const own = [LOCK_FILE, FIRST_START_FILE, basename(masterKeyPath(config))];
  return name.startsWith(DATABASE_FILE) || own.includes(name);
}

function examineMasterKey(config: Config): Finding {
  const path = masterKeyPath(config);
  const verdict = readMasterKey(path);
  return verdict.ok ? ok('master key', path) : problem('master key', verdict.description);
}

function examineDisk({ dataDir }: Config): Finding {
  const stat = statfsSync(dataDir);
  const noFiles = fileShortage(stat);
  if (noFiles !== null) return noFiles;
  const free = stat.bavail * stat.bsize;
  const detail = `${Math.floor(free / (1024 * 1024))} MiB are free`;
  if (free < DISK_FREE_MIN_BYTES) return problem('disk space', `${detail}: make room before writes fail`);
  return free < DISK_FREE_LOW_BYTES ? warning('disk space', detail) : ok('disk space', detail);
}

/** Some file systems, such as Btrfs, do not count files. */
export function fileShortage({ files, ffree }: Pick<StatsFs, 'files' | 'ffree'>): Finding | null {
  if (files === 0 || ffree >= FILES_FREE_LOW) return null;
  const detail = `the file system takes only ${ffree} more files (inodes)`;
  return ffree < FILES_FREE_MIN
    ? problem('disk space', `${detail}: delete some before writes fail`)
    : warning('disk space', detail);
}

function examineAuthorities(path: string, now: number): Finding {
  const authorities = readAuthorities(readSettingFile('caFile', path)).map((pem) => new X509Certificate(pem));
  const expired = authorities.filter(({ validTo }) => Date.parse(validTo) <= now);
  if (expired.length > 0) {
    return warning('CA file', `expired: ${expired.map(({ subject }) => subject.replaceAll('\n', ', ')).join('; ')}`);
  }
  return ok('CA file', `${authorities.length} ${authorities.length === 1 ? 'authority' : 'authorities'} in ${path}`);
}

function examineTls({ tlsCertFile, tlsKeyFile }: Config, now: number): Finding {
  const check = 'TLS certificate';
  const certificate = new X509Certificate(readSettingFile('tlsCertFile', tlsCertFile ?? ''));
  const key = createPrivateKey(readSettingFile('tlsKeyFile', tlsKeyFile ?? ''));
  if (!certificate.checkPrivateKey(key)) return problem(check, `${tlsKeyFile} is not the key of ${tlsCertFile}`);
  return judgeExpiry(check, tlsCertFile ?? '', Date.parse(certificate.validTo), now);
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
