/**
 * Finds connections that no longer work although nobody closed them: a cut network, a firewall that forgot them, a server that stopped.
 * The client itself would wait for minutes.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { within } from './connect.ts';
import type { Connection } from './connection.ts';
import type { ServerRoute } from './route.ts';
import type { DatabaseSession } from './session.ts';

/**
 * How often connections are examined. If a statement has not been answered for `POSTGRES_SILENT_MS`, another connection asks the server
 * whether it still works on it. Together less than two seconds.
 */
const POSTGRES_WATCH_EVERY_MS = 150;
const POSTGRES_SILENT_MS = 800;
const POSTGRES_PROBE_MS = 900;

/** An answer that was sent before the server called a connection idle arrives within this time. */
const POSTGRES_LATE_ANSWER_MS = 200;

/**
 * Watches the connections until `stop`. If a statement has not been answered for `POSTGRES_SILENT_MS`, it asks the server on another
 * connection: a process that does not work on it never got it. If the server does not answer either, an outage begins. Behind a pooler the
 * process is not known, and only `answerMs` ends the wait. `patience` multiplies the two limits of the silence.
 *
 * A connection that waits for the answer to COMMIT is closed only if the server says that its process does not work: it may wait for a
 * synchronous standby, and would go on at the server while another took its place here.
 */
export function watch(
  connections: readonly Connection[],
  route: ServerRoute,
  { answerMs, patience }: { readonly answerMs: number; readonly patience: number },
): { stop(): void } {
  let isExamining = false;

  const silent = (limitMs: number): DatabaseSession[] =>
    connections
      .map((one) => one.current())
      .filter((session) => session !== null && session.silentMs() >= limitMs) as DatabaseSession[];
  const tick = (): void => {
    for (const session of silent(answerMs)) if (session.committing() === null) session.destroy();
    const suspects = silent(POSTGRES_SILENT_MS * patience);
    if (isExamining || suspects.length === 0) return;
    isExamining = true;
    void examine(suspects, route, POSTGRES_PROBE_MS * patience).finally(() => {
      isExamining = false;
    });
  };
  // After the answers that arrived while this process was busy.
  const timer = setInterval(() => setImmediate(tick), POSTGRES_WATCH_EVERY_MS).unref();
  return { stop: () => clearInterval(timer) };
}

// With `track_activities` off, every state is `disabled`: then only the time limit of an answer counts.
const WORKING = "SELECT pid FROM pg_stat_activity WHERE state IN ('active', 'disabled')";

/** Destroys the sessions on which the server does not work, all of them if it does not answer. */
async function examine(suspects: readonly DatabaseSession[], route: ServerRoute, probeMs: number): Promise<void> {
  const silences = suspects.map((session) => performance.now() - session.silentMs());
  let probe: DatabaseSession | null = null;
  const asking = route.probe();
  try {
    const asked = await within(probeMs, async () => {
      probe = await asking;
      const { rows } = await probe.query(WORKING);
      return { serverRun: probe.serverRun, working: rows.map(({ pid }) => pid) };
    });
    await pause(POSTGRES_LATE_ANSWER_MS);
    for (const [at, session] of suspects.entries()) {
      const isSame = session.silentMs() > 0 && performance.now() - session.silentMs() - (silences[at] ?? 0) < 1;
      const process = session.committing() ?? session.process;
      const works = process === null || asked.working.includes(process);
      if (isSame && !(works && session.serverRun === asked.serverRun)) session.destroy();
    }
    // At most one examination a second while a statement takes long.
    await pause(POSTGRES_SILENT_MS, undefined, { ref: false });
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('53') === true) return;
    for (const session of suspects) if (session.silentMs() > 0 && session.committing() === null) session.destroy();
    route.lost(error as Error);
  } finally {
    asking.then((session) => session.end()).catch(() => undefined);
  }
}
