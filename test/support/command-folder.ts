/** A data folder after its first start, commands that use it, and a receiver that they can reach. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { FirstCredentials } from '../../src/data/data.ts';
import { type CommandResult, sallyport, sallyportJson, unusedFolder } from './command.ts';
import { type Receiver, type ReceivingEndpoint, startReceiver } from './receiver.ts';
import { sharedCertificates } from './tls.ts';

export type Json = Record<string, unknown> & { readonly id: string };
export type Page = { readonly items: readonly Json[]; readonly nextCursor: string | null };

export type Folder = {
  readonly dataDir: string;
  readonly credentials: FirstCredentials;
  run(args: readonly string[], input?: string): Promise<CommandResult>;
  json<T = Json>(args: readonly string[], input?: string): Promise<T>;
  /** Runs a command that must fail with status 1. Returns its error text. */
  failure(args: readonly string[], input?: string): Promise<string>;
};

export async function initialised(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<Folder> {
  const dataDir = unusedFolder(t);
  const all = { SALLYPORT_DATA: dataDir, ...env };
  const credentials = await sallyportJson<FirstCredentials>(['init'], { env: all });
  const run: Folder['run'] = (args, input = '') => sallyport(args, { env: all, input });
  return {
    dataDir,
    credentials,
    run,
    json: (args, input = '') => sallyportJson(args, { env: all, input }),
    failure: async (args, input) => {
      const { status, stdout, stderr } = await run(args, input);
      assert.equal(status, 1, stderr);
      assert.equal(stdout, '');
      return stderr;
    },
  };
}

/** Starts a receiver. Returns it with the settings that let commands and servers send to it. */
export async function reachableReceiver(
  t: TestContext,
): Promise<{ readonly receiver: Receiver; readonly env: Readonly<Record<string, string>> }> {
  const { ca, server } = sharedCertificates();
  const caFile = join(dirname(unusedFolder(t)), 'ca.pem');
  writeFileSync(caFile, ca);
  const env = { SALLYPORT_CA_FILE: caFile, SALLYPORT_EGRESS_ALLOW: '127.0.0.1,::1' };
  return { receiver: await startReceiver(t, server), env };
}

/** The arguments of the command that creates an endpoint for this receiver. */
export function creationOf({ url, secret, apiKey }: ReceivingEndpoint): string[] {
  return ['endpoint', 'create', '--name', 'Shop', '--url', url, '--secret', secret, '--api-key', apiKey];
}
