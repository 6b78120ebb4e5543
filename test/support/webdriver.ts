/** Firefox and WebKit, each by the protocol that it speaks itself: WebDriver BiDi, and WebDriver over HTTP. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { cleanUp } from './cleanup.ts';
import { freePort } from './free-port.ts';
import { onPath } from './on-path.ts';
import { needs } from './programs.ts';

export type Driven = {
  /** Loads a page. */
  go(url: string): Promise<void>;
  /** The value of a JavaScript expression in the page, awaited. */
  evaluate<T>(expression: string): Promise<T>;
  /** Waits until an expression is true, also while pages load. */
  until(expression: string): Promise<void>;
  /** From now on, expressions are of the document in the page's frame. */
  enterFrame(): Promise<void>;
};

/** The browsers, each with how a test gets one without cookies. They accept certificates that nobody trusts. */
export const DRIVEN: Readonly<Record<string, (t: TestContext) => Promise<Driven>>> = {
  WebKit: startWebKit,
  Firefox: startFirefox,
};

type Protocol = Pick<Driven, 'go' | 'enterFrame'> & { evaluate(expression: string): Promise<string> };

const PATIENCE_MS = 60_000;

function driven({ go, enterFrame, evaluate }: Protocol): Driven {
  const jsonOf = async <T>(expression: string): Promise<T> => JSON.parse(await evaluate(expression)) as T;
  return {
    go,
    enterFrame,
    evaluate: jsonOf,
    until: async (expression) => {
      for (const end = Date.now() + PATIENCE_MS; ; ) {
        // While a page loads, there may be no page to ask.
        const isTrue = await jsonOf(`Boolean(${expression})`).catch(() => false);
        if (isTrue === true) return;
        if (Date.now() > end) {
          const page = 'document.location.href + "\\n" + document.documentElement.outerHTML';
          throw new Error(`never true: ${expression}\n${await jsonOf<string>(page)}`);
        }
        await pause(50);
      }
    },
  };
}

/** WebKitGTK's MiniBrowser with Debian's `webkit2gtk-driver`, in a display of `xvfb`. */
async function startWebKit(t: TestContext): Promise<Driven> {
  const port = await freePort();
  const driver = programOf(needs('WebKitWebDriver'), 'webkit2gtk-driver');
  const running = start(programOf(needs('xvfb-run'), 'xvfb'), ['-a', driver, `--port=${port}`]);
  cleanUp(t, running.end);
  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const { value } = (await response.json()) as { value: unknown };
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(value)}`);
    return value;
  };
  await answers(() => ask('GET', '/status'));
  // Without a program, the driver starts its own MiniBrowser.
  const begun = await ask('POST', '/session', { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } });
  const session = `/session/${(begun as { sessionId: string }).sessionId}`;
  cleanUp(t, () => ask('DELETE', session));
  return driven({
    go: async (url) => void (await ask('POST', `${session}/url`, { url })),
    enterFrame: async () => {
      const id = await ask('POST', `${session}/element`, { using: 'css selector', value: 'iframe' });
      await ask('POST', `${session}/frame`, { id });
    },
    evaluate: async (expression) => {
      const script = `const done = arguments[0]; Promise.resolve(${expression}).then((value) => done(JSON.stringify(value ?? null)));`;
      return (await ask('POST', `${session}/execute/async`, { script, args: [] })) as string;
    },
  });
}

type Ask = <T>(method: string, params: object) => Promise<T>;

/** Of this process: each test has a user context of its own, because a start takes seconds of processor time. */
let firefox: Promise<Ask> | null = null;
const ends: (() => unknown)[] = [];
after(async () => {
  for (const end of ends.toReversed()) await end();
});

/** Debian's `firefox-esr` with an empty profile. */
async function openFirefox(): Promise<Ask> {
  const profile = mkdtempSync(join(tmpdir(), 'firefox-'));
  ends.push(() => rmSync(profile, { recursive: true, force: true, maxRetries: 5 }));
  const program = programOf(needs('firefox-esr'), 'firefox-esr');
  const running = start(program, ['--headless', '--profile', profile, '--remote-debugging-port', '0']);
  ends.push(running.end);
  const socket = new WebSocket(`${await listeningAt(running.child)}/session`);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  const waiting = new Map<number, (answer: BidiAnswer) => void>();
  socket.addEventListener('message', ({ data }) => {
    const answer = JSON.parse(String(data)) as BidiAnswer;
    waiting.get(answer.id)?.(answer);
  });
  ends.push(() => socket.close());
  const ask: Ask = async (method, params) => {
    const id = waiting.size + 1;
    const answered = new Promise<BidiAnswer>((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params }));
    const { type, result, error, message } = await answered;
    if (type !== 'success') throw new Error(`${method}: ${error} ${message}`);
    return result as never;
  };
  await ask('session.new', { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } });
  return ask;
}

async function startFirefox(t: TestContext): Promise<Driven> {
  firefox ??= openFirefox();
  const ask = await firefox;
  const { userContext } = await ask<{ userContext: string }>('browser.createUserContext', {});
  cleanUp(t, () => ask('browser.removeUserContext', { userContext }));
  let { context } = await ask<BidiContext>('browsingContext.create', { type: 'tab', userContext });
  return driven({
    go: async (url) => void (await ask('browsingContext.navigate', { context, url, wait: 'complete' })),
    enterFrame: async () => {
      const tree = await ask<{ contexts: BidiContext[] }>('browsingContext.getTree', { root: context });
      context = tree.contexts[0]?.children[0]?.context ?? '';
    },
    evaluate: async (expression) => {
      const { result, exceptionDetails } = await ask<{ result?: { value: string }; exceptionDetails?: object }>(
        'script.evaluate',
        {
          expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value ?? null))`,
          target: { context },
          awaitPromise: true,
        },
      );
      if (result === undefined) throw new Error(JSON.stringify(exceptionDetails));
      return result.value;
    },
  });
}

type BidiContext = { readonly context: string; readonly children: readonly BidiContext[] };

type BidiAnswer = {
  readonly id: number;
  readonly type: string;
  readonly result?: unknown;
  readonly error?: string;
  readonly message?: string;
};

/** The address that Firefox prints. */
async function listeningAt({ stderr }: ChildProcess): Promise<string> {
  if (stderr === null) throw new Error('Firefox has no output');
  const lines: string[] = [];
  for await (const line of createInterface({ input: stderr })) {
    const [address] = /ws:\/\/\S+/.exec(line) ?? [];
    if (address !== undefined) {
      stderr.resume();
      return address;
    }
    lines.push(line);
  }
  throw new Error(`Firefox ended:\n${lines.join('\n')}`);
}

/** The process and what it starts form a group, which `end` ends. */
function start(program: string, args: readonly string[]): { readonly child: ChildProcess; end(): Promise<unknown> } {
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  const end = (): Promise<unknown> => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
    return ended;
  };
  return { child, end };
}

async function answers(ask: () => Promise<unknown>): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    try {
      await ask();
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
      await pause(50);
    }
  }
}

function programOf(name: string, debianPackage: string): string {
  const file = onPath(name);
  if (file === null) throw new Error(`${name} is not installed: apt-get install ${debianPackage}`);
  return file;
}
