/** Load on a server by wrk, a process of its own: so many connections, each sending its next request when it has its answer. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuMillis } from './cpu.ts';
import { output } from './processes.ts';

export type LoadRequest = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

export type Loaded = {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the server for one request, which other processes disturb less than the rate. */
  readonly cpuMicros: number;
  readonly requests: number;
};

export type LoadOptions = {
  readonly seconds: number;
  readonly connections?: number;
  /** Connections are open for so long before their first request; costs the rate a little. */
  readonly openMs?: number;
};

/** A server under load, and the requests that it gets in turn. */
export type Target = { readonly url: string; readonly pid: number; readonly requestsFile: string };

const SCRIPT = fileURLToPath(new URL('requests.lua', import.meta.url));
export const CONNECTIONS = 64;

/** Puts the requests where wrk finds them. */
export function makeTarget(
  folder: string,
  name: string,
  server: { readonly url: string; readonly pid: number },
  requests: readonly LoadRequest[],
): Target {
  const requestsFile = join(folder, `${name}.lua`);
  writeFileSync(requestsFile, `return ${luaOf(requests)}\n`);
  return { url: server.url, pid: server.pid, requestsFile };
}

/** Throws when a request failed or was answered with an error: a rate of refusals is none. */
export async function load(
  { url, pid, requestsFile }: Target,
  { seconds, connections = CONNECTIONS, openMs = 0 }: LoadOptions,
): Promise<Loaded> {
  const before = cpuMillis(pid);
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', SCRIPT, url, '--', requestsFile];
  if (openMs > 0) args.push(String(connections), String(openMs));
  const printed = await output('wrk', args);
  const cpu = cpuMillis(pid) - before;
  const said = JSON.parse(printed.slice(printed.lastIndexOf('{"requests"'))) as Record<string, number>;
  const { requests = 0, micros = 0, failed = 0, refused = 0, p50 = 0, p99 = 0 } = said;
  if (requests === 0 || failed > 0 || refused > 0) {
    throw new Error(`of ${requests} requests to ${url} ${refused} were refused and ${failed} failed`);
  }
  return {
    perSecond: requests / (micros / 1e6),
    p50Ms: p50 / 1000,
    p99Ms: p99 / 1000,
    cpuMicros: (cpu * 1000) / requests,
    requests,
  };
}

/** Only ASCII: Lua reads the escapes that JSON uses in such text. */
function luaOf(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(luaOf).join(',')}}`;
  if (typeof value === 'string') return JSON.stringify(value);
  const members = Object.entries(value as Record<string, unknown>).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `["${name}"]=${luaOf(member)}`).join(',')}}`;
}
