/** A data folder that has had its first start, and commands on it. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { FirstCredentials } from '../../src/data-folder.ts';
import { type CommandResult, sallyport, sallyportJson, unusedFolder } from './command.ts';

export type Json = Record<string, unknown> & { readonly id: string };
export type Page = { readonly items: readonly Json[]; readonly nextCursor: string | null };

export type Folder = {
  readonly dataDir: string;
  readonly credentials: FirstCredentials;
  run(args: readonly string[], input?: string): Promise<CommandResult>;
  json<T = Json>(args: readonly string[], input?: string): Promise<T>;
  /** What a command that must fail with status 1 says. */
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
