/** Limits of what a kill test waits for: a run that hangs ends with an error that names what hung. */
import { constants } from 'node:os';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** The current step of a run, for a run that ends without a report. */
export type Steps = {
  /** Waits for `work`, or throws after `limitMs` and names the step. `more` is added to the error, for example a log. */
  run<T>(what: string, limitMs: number, work: () => Promise<T>, more?: () => string): Promise<T>;
  current(): string;
};

export function createSteps(now: () => number = () => performance.now()): Steps {
  const open = new Map<symbol, { readonly what: string; readonly since: number }>();
  const current = (): string =>
    [...open.values()].map(({ what, since }) => `${what} (for ${Math.round((now() - since) / 1000)} s)`).join(', ');
  return {
    current: () => current() || 'nothing',
    run: async (what, limitMs, work, more = () => '') => {
      const step = Symbol(what);
      open.set(step, { what, since: now() });
      const limit = Promise.withResolvers<never>();
      const timer = setTimeout(() => {
        limit.reject(
          new Error(`hung: ${what} did not end within ${limitMs / 1000} s; in progress: ${current()}${more()}`),
        );
      }, limitMs);
      try {
        return await Promise.race([work(), limit.promise]);
      } finally {
        clearTimeout(timer);
        open.delete(step);
      }
    },
  };
}

/** Tells at the end of the process, also by a signal, what was in progress, unless `reported` was called. */
export function tellUnreported(steps: Pick<Steps, 'current'>, tell: (text: string) => void): { reported(): void } {
  const onExit = (code: number): void =>
    tell(`The run ended with ${code} and without a report. In progress: ${steps.current()}`);
  // By default a signal ends the process without this event.
  const onSignal = (name: NodeJS.Signals): never => process.exit(128 + constants.signals[name]);
  process.once('exit', onExit);
  for (const name of SIGNALS) process.once(name, onSignal);
  return {
    reported: () => {
      process.off('exit', onExit);
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}
