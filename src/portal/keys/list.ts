/** `/keys`: the list of PGP keys, and when keys and client certificates expire. */
import { type Html, html } from '../../http/html.ts';
import { EXPIRIES_SHOWN } from '../../kernel/limits/portal.ts';
import { NO_USES, type Uses } from '../../store/directory.ts';
import type { PgpKey } from '../../webhooks/webhook.ts';
import type { PageCall } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { badge, stateBadge } from '../parts/badge.ts';
import { linkButton } from '../parts/button.ts';
import { copyable } from '../parts/code.ts';
import { section } from '../parts/header.ts';
import { listView, readListed } from '../parts/list.ts';
import { emptyState, nothingFound, table } from '../parts/table.ts';
import { relativeTime } from '../parts/time.ts';
import { usesList } from '../webhooks/uses.ts';
import { expiryTimeline, expiryTone } from './timeline.ts';

const PATH = '/keys';

export function keyListPage({ pages, services: { keys }, store }: PageDependencies): PageRoute {
  return pages.view(PATH, async (call) => {
    const { query, now } = call;
    const { items, cursor, nextCursor } = await readListed(
      query,
      (after, limit) => keys.list(after ?? '', limit),
      ({ id }) => id,
    );
    const uses = await store.uses.ofKeys(items.map(({ name }) => name));
    const expiries = await store.expiry.all(EXPIRIES_SHOWN);
    const isEmpty = items.length === 0 && cursor === null;
    return listView({
      title: 'Keys',
      lead: 'PGP public keys of customers. Whatever goes out through a webhook that names one can be read with its private half alone.',
      actions: [call.may('administrator') && !isEmpty ? importButton() : null],
      ...{ path: PATH, query, nextCursor },
      above: expiries.length === 0 ? null : timelineSection(expiries, now),
      results: keyTable(call, items, uses),
    });
  });
}

function timelineSection(expiries: Parameters<typeof expiryTimeline>[0], now: number): Html {
  return section({
    title: 'What expires',
    lead: 'Keys, and the client certificates of endpoints. 30, 7 and 1 days before, there is a warning in the log and an event webhook.key_expiring. With an expired key nothing is sent.',
    content: expiryTimeline(expiries, now),
  });
}

function keyTable(call: PageCall, keys: readonly PgpKey[], uses: ReadonlyMap<string, Uses>): Html {
  return table({
    caption: 'Keys',
    columns: [
      { label: 'Name', kind: 'main' },
      { label: 'Fingerprint' },
      { label: 'Algorithm' },
      { label: 'Expires' },
      { label: 'Webhooks' },
    ],
    rows: keys.map(({ id, name, fingerprint, algorithm, expiresAt }) => [
      html`<a href="${PATH}/${id}">${name}</a>`,
      copyable(fingerprint, 'fingerprint', `… ${grouped(fingerprint.slice(-16))}`),
      html`<code>${algorithm}</code>`,
      expiryCell(expiresAt, call.now),
      usesList(uses.get(name) ?? NO_USES, `/webhooks?key=${encodeURIComponent(name)}`),
    ]),
    empty: call.query.has('cursor') ? nothingFound(PATH, 'keys') : firstKey(call),
  });
}

/** In groups of four digits, which are easier to compare. */
export function grouped(fingerprint: string): string {
  return fingerprint.replace(/(.{4})(?=.)/g, '$1 ');
}

function expiryCell(expiresAt: number | null, now: number): Html {
  if (expiresAt === null) return html`<span class="quiet">never</span>`;
  if (expiresAt <= now)
    return html`${stateBadge('expired')} <span class="cell-hint">${relativeTime(expiresAt, now)}</span>`;
  const tone = expiryTone(expiresAt, now);
  return tone === 'positive'
    ? relativeTime(expiresAt, now)
    : html`${badge(tone, 'expiring', 'clock')} <span class="cell-hint">${relativeTime(expiresAt, now)}</span>`;
}

function firstKey(call: PageCall): Html {
  return emptyState({
    title: 'Nothing is encrypted yet',
    text: html`<p>Employee events, and every event type that says so, go out encrypted or not at all. The customer makes a PGP key pair, keeps the private half and gives you the public one, which you import here. A webhook names the key that its records are encrypted for.</p><p>The customer makes one with <code>gpg --quick-generate-key</code> and exports it with <code>gpg --armor --export</code>.</p>`,
    action: call.may('administrator') ? importButton() : html`<p class="quiet">An administrator can import one.</p>`,
  });
}

function importButton(): Html {
  return linkButton({ href: `${PATH}/new`, label: 'Import a key', kind: 'primary', icon: 'plus' });
}
