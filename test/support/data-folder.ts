/** Data folders for tests, opened as the server or as a command opens them. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { type Config, readConfig } from '../../src/config/config.ts';
import { DataFolderError } from '../../src/data/data.ts';
import { type FolderData, openFolder } from '../../src/data/data-folder.ts';
import { makeFirstCredentials } from '../../src/data/first-start.ts';
import { cleanUp } from './cleanup.ts';
import { unusedFolder } from './command.ts';
import './password-cost.ts';

export function configOf(dataDir: string, more: Partial<Config> = {}): Config {
  return { ...readConfig({}), dataDir, ...more };
}

/** Opens the folder as the server does (`exclusive`) or as a command next to the server does. It is closed when the test ends. */
export async function open(t: TestContext, config: Config, exclusive = true): Promise<FolderData> {
  const data = await openFolder(config, { exclusive });
  let closed = false;
  const close = async (): Promise<void> => {
    if (!closed) await data.close();
    closed = true;
  };
  cleanUp(t, close);
  return { ...data, close };
}

/** Returns the error message of opening the folder, which must fail. */
export async function refusal(config: Config, exclusive = true): Promise<string> {
  try {
    await (await openFolder(config, { exclusive })).close();
  } catch (error) {
    assert(error instanceof DataFolderError, String(error));
    return error.message;
  }
  return assert.fail('the folder was opened');
}

/** Makes a folder, runs the first start in it, and closes it. */
export async function startedFolder(t: TestContext): Promise<Config> {
  const config = configOf(unusedFolder(t));
  const data = await open(t, config);
  await makeFirstCredentials(data);
  await data.firstCredentials.forget();
  await data.close();
  return config;
}

/** The permissions of a file or folder, in octal. */
export function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}
