/** Runs real proxies in front of an API, in the foreground and as this user, with the configurations of docs/examples. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.ts';

/** The base URLs of Sallyport and of the protected API. */
export type Behind = { readonly sallyport: string; readonly upstream: string };

export type RunningProxy = {
  readonly port: number;
  readonly url: string;
  /** Its output so far. */
  log(): string;
  stop(): Promise<void>;
};

/** Starts Debian's `nginx-light`. Throws if it is not installed. */
export function startNginx({ sallyport, upstream }: Behind): Promise<RunningProxy> {
  return startNginxWith((port) => filled('nginx.conf', { listen: `127.0.0.1:${port}`, sallyport, upstream }));
}

/** Starts Debian's `caddy`. Throws if it is not installed. */
export function startCaddy({ sallyport, upstream }: Behind): Promise<RunningProxy> {
  return startCaddyWith((port) =>
    filled('Caddyfile', { address: '127.0.0.1', port: String(port), sallyport, upstream }),
  );
}

/** Starts `program`, an Envoy. */
export function startEnvoy(program: string, { sallyport, upstream }: Behind): Promise<RunningProxy> {
  const [service, api] = [new URL(sallyport), new URL(upstream)];
  return startProxy(program, 'none has it', /starting main dispatch loop/, (folder, port) => {
    const config = join(folder, 'envoy.yaml');
    const values = {
      address: '127.0.0.1',
      port: String(port),
      sallyport_address: service.hostname,
      sallyport_port: service.port,
      upstream_address: api.hostname,
      upstream_port: api.port,
    };
    writeFileSync(config, filled('envoy.yaml', values));
    return ['-c', config, '--concurrency', '1', '--use-dynamic-base-id'];
  });
}

/** Starts Debian's `apache2` with modules of its folder, by name without `mod_`, and further lines of configuration. */
export function startApache(modules: readonly string[], more: string): Promise<RunningProxy> {
  return startProxy('apache2', 'apache2 libapache2-mod-oauth2', /resuming normal operations/, (folder, port) => {
    const config = join(folder, 'apache2.conf');
    const lines = [
      `ServerRoot ${folder}`,
      'ServerName localhost',
      `Listen 127.0.0.1:${port}`,
      'PidFile pid',
      // Apache opens its log by path, and a socket has none.
      `ErrorLog "||/bin/sh -c 'exec cat >&2'"`,
      'DefaultRuntimeDir .',
      // Apache refuses to serve as root.
      ...(process.getuid?.() === 0 ? ['User www-data', 'Group www-data'] : []),
      ...modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`),
      more,
    ];
    writeFileSync(config, lines.join('\n'));
    return ['-D', 'FOREGROUND', '-f', config];
  });
}

/** The same with the configuration for a port. */
export function startNginxWith(configuration: (port: number) => string): Promise<RunningProxy> {
  return startProxy('nginx', 'nginx-light', /start worker process \d/, (folder, port) => {
    const config = join(folder, 'nginx.conf');
    writeFileSync(config, configuration(port));
    // When nginx starts as root, its workers run as a user that cannot access the folder.
    const user = process.getuid?.() === 0 ? 'user root; ' : '';
    return ['-e', 'stderr', '-p', folder, '-c', config, '-g', `${user}daemon off;`];
  });
}

export function startCaddyWith(configuration: (port: number) => string): Promise<RunningProxy> {
  return startProxy('caddy', 'caddy', /serving initial configuration/, (folder, port) => {
    const config = join(folder, 'Caddyfile');
    writeFileSync(config, configuration(port));
    return ['run', '--adapter', 'caddyfile', '--config', config];
  });
}

const TRIES = 5;

/** Retries with another port if another process has taken the free port before the proxy listens on it. */
async function startProxy(
  program: string,
  debianPackage: string,
  isReady: RegExp,
  configure: (folder: string, port: number) => string[],
): Promise<RunningProxy> {
  for (let left = TRIES; ; left -= 1) {
    const folder = mkdtempSync(join(tmpdir(), `${basename(program)}-`));
    const port = await freePort();
    const child = spawn(program, configure(folder, port), {
      cwd: folder,
      // Not every PATH includes sbin. HOME and XDG make the proxy keep its state in the folder.
      env: {
        PATH: `${process.env.PATH}:/usr/sbin:/sbin`,
        HOME: folder,
        XDG_CONFIG_HOME: folder,
        XDG_DATA_HOME: folder,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const running = watch(child);
    const failure = await running.ready(isReady);
    const stop = async (): Promise<void> => {
      child.kill('SIGTERM');
      await running.ended;
      rmSync(folder, { recursive: true, force: true });
    };
    if (failure === null) return { port, url: `http://127.0.0.1:${port}`, log: running.log, stop };
    rmSync(folder, { recursive: true, force: true });
    if (failure === 'ENOENT') throw new Error(`${program} is not installed: apt-get install ${debianPackage}`);
    if (left === 1 || !/address already in use/i.test(failure)) throw new Error(`${program} did not start: ${failure}`);
  }
}

type Running = {
  readonly ended: Promise<void>;
  log(): string;
  /** Resolves with null once the output matches, or with the reason if the proxy ends first. */
  ready(pattern: RegExp): Promise<string | null>;
};

function watch(child: ChildProcessByStdio<null, Readable, Readable>): Running {
  let written = '';
  let notRun: string | null = null;
  let look = (): void => {};
  const take = (text: string): void => {
    written += text;
    look();
  };
  child.stdout.setEncoding('utf8').on('data', take);
  child.stderr.setEncoding('utf8').on('data', take);
  child.once('error', (error: NodeJS.ErrnoException) => {
    notRun = error.code ?? error.message;
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    ended,
    log: () => written,
    ready: (pattern) =>
      new Promise((resolve) => {
        look = () => {
          if (pattern.test(written)) resolve(null);
        };
        void ended.then(() => resolve(notRun ?? written));
      }),
  };
}

/** The example of a configuration with its placeholders replaced. */
function filled(name: string, values: Readonly<Record<string, string>>): string {
  const template = readFileSync(fileURLToPath(new URL(`../../docs/examples/${name}`, import.meta.url)), 'utf8');
  const lines = template.split('\n').filter((line) => !/^\s*#/.test(line));
  return lines.join('\n').replace(/\{\{(\w+)\}\}/g, (_, placeholder: string) => {
    const value = values[placeholder];
    if (value === undefined) throw new Error(`docs/examples/${name} has {{${placeholder}}}, which has no value`);
    return value;
  });
}
