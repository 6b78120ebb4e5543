/** Generates the pages of docs/reference/, by name. A test compares the files with them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GROUPS } from '../../src/cli/groups.ts';
import type { ApiDocument } from '../../src/http/api-document.ts';
import { createSallyport } from '../../src/sallyport.ts';
import { commandLinePages } from './command-line.ts';
import { httpApiPages } from './http-api.ts';
import { metricsPage } from './metrics.ts';

export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  const groups = await Promise.all(GROUPS.map(async (group) => ({ group, commands: await group.load() })));
  return new Map([...httpApiPages(await servedDocument()), ...commandLinePages(groups), ['metrics.md', metricsPage()]]);
}

/** The reply of `GET /services/api/openapi.json` with an empty data folder. */
async function servedDocument(): Promise<ApiDocument> {
  const parent = mkdtempSync(join(tmpdir(), 'sallyport-reference-'));
  try {
    const sallyport = await createSallyport({ dataDir: join(parent, 'data'), port: 0, logLevel: 'silent' });
    try {
      const { url } = await sallyport.start();
      const response = await fetch(`${url}/services/api/openapi.json`);
      return (await response.json()) as ApiDocument;
    } finally {
      await sallyport.stop();
    }
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
}
