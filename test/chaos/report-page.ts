/** The report of a run with several instances as a page of the documentation. */
import { cpus, release } from 'node:os';
import { VERSION } from '../../src/kernel/version.ts';
import { type ClusterReport, FAULTS, type Fault, MEANWHILE, type Meanwhile } from './cluster.ts';

const MEANING: Readonly<Record<Fault, string>> = {
  kill: 'an instance is killed (SIGKILL) and started again',
  stop: 'an instance is stopped in order (SIGTERM) and started again, as in an upgrade',
  pause: 'an instance is paused (SIGSTOP) for up to 12 seconds, longer than its leases, and goes on',
  connections: 'a random half of the connections to PostgreSQL is ended (`pg_terminate_backend`)',
  crash: 'the primary crashes (an immediate stop) and starts again',
  failover: 'the primary is killed and does not come back, its standby is promoted, and a new standby is built',
  network:
    'the network between an instance and PostgreSQL passes nothing on for up to 8 seconds, without closing a connection',
  pooler: 'PgBouncer, through which one of the instances works, is restarted',
  'standby stopped': 'the synchronous standby is stopped for up to 17 seconds, so every commit waits for it',
  'standby frozen': 'the same, by SIGSTOP: its connections stay open',
  'standby cut': 'the same, by the network between it and the primary, which passes nothing on',
};

const MEANINGS: Readonly<Record<Meanwhile, string>> = {
  nothing: 'nothing else happened',
  ended: 'someone ended the transactions that waited for it (`pg_terminate_backend`)',
  cancelled: 'someone cancelled their wait (`pg_cancel_backend`)',
  crash: 'the primary crashed and started again',
};

const PROMISES = {
  lost: 'events that were acknowledged and did not arrive',
  reordered: 'records out of order, of the whole webhook or of a key',
  gap: 'offsets that are missing',
  duplicate: 'offsets or idempotency keys of two events',
  repeated: 'records that came again without a fault in the time before',
  unread: 'records that were passed over, or not known yet, in a reply to a reader',
  unknown: 'records that nobody published',
  revoked:
    'calls that passed after the revocation of their token was confirmed, on another instance or after a failover',
  refused: 'tokens that were issued, and refused before anyone revoked them',
} as const;

export function clusterReportPage(report: ClusterReport): string {
  const {
    seed,
    durationMs,
    faults,
    violations,
    problems,
    acknowledged,
    records,
    repeats,
    read,
    issued,
    revoked,
    meanwhile,
    promotedAfterAbsence,
    reconnectedMs,
  } = report;
  const count = (kind: string): number => violations.filter((one) => one.kind === kind).length;
  const times = reconnectedMs.toSorted((a, b) => a - b);
  const numbers = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',');
  return `<!-- Made by \`npm run test:chaos -- --seconds ${Math.round(durationMs / 1000)} --write-report\`. Not to be edited. -->
# Ten minutes of faults

Three instances work on a PostgreSQL primary with a synchronous standby while faults happen at random. Publishers send events with \
idempotency
keys to any instance. Five webhooks receive them: one record a request, in order, in the order of each key, in batches, and \
as Standard Webhooks. At the same time
tokens are issued and revoked on one instance and tried on another, now and after each failover, and each webhook is read again from \
its first record at any instance. Every request, reply and arrival is recorded, and a checker compares them with
the promises.

Measured for ${Math.round(durationMs / 1000)} s on ${new Date().toISOString().slice(0, 10)}: ${cpus().length} cores, Linux \
${release().split('-')[0]}, Node.js ${process.versions.node}, PostgreSQL 15,
Sallyport ${VERSION}. Publishers, receivers and both database servers ran on the same machine. The seed was ${seed}.

## What happened

| fault | times |
|---|---:|
${FAULTS.map((fault) => `| ${MEANING[fault]} | ${faults[fault]} |`).join('\n')}

While the standby was away:

| | times |
|---|---:|
${MEANWHILE.map((what) => `| ${MEANINGS[what]} | ${meanwhile[what]} |`).join('\n')}
| in the end the primary did not come back, and the standby was promoted; otherwise the standby came back | ${promotedAfterAbsence} |

## What was promised

| | |
|---|---:|
| events acknowledged | ${numbers(acknowledged)} |
| records delivered | ${numbers(records)} |
| records read again | ${numbers(read)} |
| tokens issued | ${numbers(issued)} |
| tokens revoked on one instance and tried on another | ${numbers(revoked)} |
${Object.entries(PROMISES)
  .map(([kind, meaning]) => `| ${meaning} | **${count(kind)}** |`)
  .join('\n')}
| other problems: answers 500, records that stayed, signatures that did not verify | **${problems.length}** |

${numbers(repeats)} of the records arrived a second time. Delivery is at least once: a request whose outcome a fault kept from being \
recorded is sent
again, with the same \`webhook-id\`.

Every instance issued tokens again ${times[0]} to ${times.at(-1)} ms after a promotion, without a restart.

Repeat it with \`npm run test:chaos -- --seconds 600\`. \`npm run test:slow\` includes a run of half a minute.
`;
}
