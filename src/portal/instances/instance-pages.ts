/** `/instances`: who serves and delivers on a PostgreSQL database, what each holds, and the state of the database. Not on SQLite. */

import { type Html, html } from '../../http/html.ts';
import type { DatabaseStatus, Instance, InstanceStore } from '../../store/port/instances.ts';
import { CLOCK_BEHIND_MAX_MS } from '../../store/port/limits.ts';
import type { View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { definitionList, figures } from '../parts/details.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { emptyState, table } from '../parts/list.ts';
import { notice, stateBadge } from '../parts/mark.ts';
import { countOf, countText, relativeText, relativeTime, spanText, time } from '../parts/text.ts';

const PATH = '/instances';
/** A snapshot of this age slows deliveries down. */
const SNAPSHOT_OLD_MS = 5 * 60_000;
const PARTITIONS_SOON_MS = 7 * 86_400_000;

export function instancePages({ pages, store }: PageDependencies): PageRoute<'operator'>[] {
  const { instances } = store;
  if (instances === null) return [];
  return [pages.view(PATH, 'operator', ({ now }) => instancesView(instances, now))];
}

async function instancesView(instances: InstanceStore, now: number): Promise<View> {
  const [all, database] = await Promise.all([instances.list(), instances.database()]);
  const alive = all.filter((one) => one.alive);
  const held = alive.reduce((sum, { webhooks }) => sum + webhooks, 0);
  const content = html`
    ${pageHeader({
      title: 'Instances',
      lead: 'Every instance serves all requests. Each webhook is sent by one of them at a time.',
      actions: [linkButton({ href: PATH, label: 'Read again', icon: 'replay' })],
    })}
    ${warnings(database, now)}
    ${figures([
      { label: 'Alive', value: countText(alive.length), tone: alive.length > 1 ? 'positive' : 'neutral' },
      { label: 'Webhooks held', value: countText(held), hint: 'each by one instance; idle ones by none' },
      {
        label: 'Round trip to the database',
        value: spanOf(database.roundTripMs),
        hint: 'from the instance that shows this page',
      },
    ])}
    ${section({ title: 'Instances', isPlain: true, content: instanceTable(all, now) })}
    ${databaseSection(database, now)}
  `;
  return { title: 'Instances', content };
}

function instanceTable(all: readonly Instance[], now: number): Html {
  return table({
    caption: 'Instances',
    columns: [
      { label: 'Instance', kind: 'main' },
      { label: 'State', phone: 'state' },
      { label: 'Address', phone: 'plain' },
      { label: 'Started', phone: 'named' },
      { label: 'Last seen', phone: 'named' },
      { label: 'Webhooks', kind: 'number', phone: 'named' },
      { label: 'Does for all', phone: 'named' },
    ],
    rows: all.map(({ number, name, alive, address, version, startedAt, seenAt, webhooks, duties }) => [
      html`${name}<span class="cell-hint">number ${number}, version ${version}</span>`,
      stateBadge(alive ? 'alive' : 'expired'),
      address === null ? null : html`<code>${address}</code>`,
      time(startedAt),
      relativeTime(seenAt, now),
      countText(webhooks),
      duties.length === 0 ? null : duties.join(', '),
    ]),
    empty: emptyState({
      title: 'No instance has joined yet',
      text: 'An instance joins when it starts.',
    }),
  });
}

function databaseSection(database: DatabaseStatus, now: number): Html {
  const { standbys, isSynchronous, clockAheadMs, oldestSnapshotMs, partitionsEndAt } = database;
  const shown = standbys.map(
    ({ name, state, isSynchronous: waits, lagMs }) =>
      html`
        <li>
          ${name}${' '}${state === null ? null : stateBadge(state)}${' '}
          ${waits ? 'commits wait for it' : 'commits do not wait for it'},
          ${lagMs === null ? 'lag unknown' : `${spanOf(lagMs)} behind`}
        </li>
      `,
  );
  return section({
    title: 'Database',
    content: definitionList([
      [
        'Standbys',
        standbys.length === 0 ? 'none' : html`<ul>${shown}</ul>`,
        isSynchronous
          ? undefined
          : 'Commits wait for no standby: if the server is lost, the last acknowledged events may be lost with it.',
      ],
      [
        'Clock of this machine',
        `${spanOf(Math.abs(clockAheadMs))} ${clockAheadMs >= 0 ? 'ahead of' : 'behind'} the database`,
        'Instances use the clock of the database.',
      ],
      [
        'Oldest snapshot',
        oldestSnapshotMs === null ? 'unknown' : oldestSnapshotMs < 1000 ? 'none' : spanText(oldestSnapshotMs),
        oldestSnapshotMs === null ? 'Grant pg_read_all_stats to the role of Sallyport.' : undefined,
      ],
      ['Partitions', `for ${countOf(daysUntil(partitionsEndAt, now), 'more day')}`],
    ]),
  });
}

function warnings({ clockAheadMs, oldestSnapshotMs, partitionsEndAt }: DatabaseStatus, now: number): Html[] {
  const texts = [
    ...(Math.abs(clockAheadMs) > CLOCK_BEHIND_MAX_MS
      ? [
          `The clock of this machine and that of the database differ by ${spanText(Math.abs(clockAheadMs))}: synchronise both with NTP.`,
        ]
      : []),
    ...(oldestSnapshotMs !== null && oldestSnapshotMs > SNAPSHOT_OLD_MS
      ? [
          `A transaction has been open for ${spanText(oldestSnapshotMs)}. It keeps old versions of rows, so tables grow: end it.`,
        ]
      : []),
    ...(partitionsEndAt - now < PARTITIONS_SOON_MS
      ? [`The tables have partitions until ${relativeText(partitionsEndAt - now)}: see the log of the instances.`]
      : []),
  ];
  return texts.map((text) => notice({ tone: 'caution', text }));
}

function daysUntil(at: number, now: number): number {
  return Math.max(0, Math.floor((at - now) / 86_400_000));
}

function spanOf(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : spanText(ms);
}
