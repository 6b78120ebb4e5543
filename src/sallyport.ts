/**
 * The public API: what an embedding program imports. docs/embedding.md is its reference.
 *
 *     const sallyport = await createSallyport({ dataDir: './data' });
 *     const { url } = await sallyport.start();
 */
import { ConfigurationError, completeConfig, type Options as Settings } from './config/config.ts';
import { createLog } from './observe/log.ts';
import { openSallyport, type Sallyport } from './open.ts';
import { isLogger, LOG_METHODS, type Logger, logTo } from './program/log.ts';

export type { Caller } from './access/callers.ts';
export { type Config, ConfigurationError, readConfig } from './config/config.ts';
export type { FirstCredentials } from './data/data.ts';
export { DataFolderError } from './data/data.ts';
export { callerOf, type Embedding, type HostRequest, type HostResponse, type Middleware } from './embedding.ts';
export type { EventInput, JsonValue, PublishInput } from './events/publish.ts';
export type { RequestHandler } from './http/server.ts';
export { StoppedError } from './kernel/lifetime.ts';
export { type FieldProblem, Refusal, type RefusalCode, type Repeat } from './kernel/refusal.ts';
export type { Secret } from './kernel/secret.ts';
export type { Sallyport } from './open.ts';
export type { Cidr } from './outbound/ip-address.ts';
export type * from './program/inputs.ts';
export type { LogFields, Logger } from './program/log.ts';
export type * from './program/program.ts';
export type * from './program/records.ts';
export type { MergePatch } from './resources/input.ts';

/** The settings of docs/configuration.md, and `log`. All are optional. */
export type Options = Settings & {
  /** Gets the lines of the log from `logLevel` on. Default: JSON lines on standard error. */
  readonly log?: Logger | undefined;
};

/**
 * Opens the data folder, and creates it at the first start. Options left out have their defaults; only `readConfig` reads the environment.
 * Throws `ConfigurationError` or `DataFolderError`.
 */
export async function createSallyport(options: Options = {}): Promise<Sallyport> {
  const config = completeConfig(options, ['log']);
  const { log } = options;
  if (log !== undefined && !isLogger(log))
    throw new ConfigurationError(`log must have the functions ${LOG_METHODS.join(', ')}`);
  const opened = await openSallyport(config, {
    log: log === undefined ? createLog(config.logLevel) : logTo(log, config.logLevel),
  });
  return opened.sallyport;
}
