/** The page about one record in three tabs: its activity, its settings, and its history. Each tab has a path of its own. */
import { type Html, html } from '../../http/html.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import { readChoice } from '../frame/query.ts';
import { tabs } from '../parts/header.ts';
import { withQuery } from '../parts/list.ts';
import { icon } from '../parts/mark.ts';
import { YOUR_OWN } from './owner.ts';

export const RECORD_TABS = ['activity', 'settings', 'history'] as const;
export type RecordTab = (typeof RECORD_TABS)[number];

const LABELS: Readonly<Record<RecordTab, string>> = { activity: 'Activity', settings: 'Settings', history: 'History' };

/** `record`: the path of the record, which is that of the first tab. */
export function tabPath(record: string, tab: RecordTab): string {
  return tab === 'activity' ? record : `${record}/${tab}`;
}

/** The path of the stream of a tab, and the tab of such a path. */
export function streamOfTab(record: string, tab: RecordTab, query: URLSearchParams): string {
  return withQuery(`${record}/live`, query, { tab: tab === 'activity' ? null : tab, test: null });
}

export function tabOfStream(query: URLSearchParams): RecordTab {
  return readChoice(query, 'tab', RECORD_TABS) ?? 'activity';
}

/** `anchors`: the ids of what each tab has. */
export function recordTabs(
  name: string,
  record: string,
  current: RecordTab,
  anchors: Readonly<Partial<Record<RecordTab, readonly string[]>>>,
): Html {
  return tabs(
    name,
    RECORD_TABS.map((tab) => ({
      href: tabPath(record, tab),
      label: LABELS[tab],
      isCurrent: tab === current,
      anchors: anchors[tab],
    })),
  );
}

/** The same of a record that belongs to nothing else; null for the operator's own. */
export function ownerFacts(owner: OwnerName | null): Html | null {
  return owner === null ? null : recordFacts(owner, []);
}

/** Below the name of a record: whose it is, in the operator's portal, and what it belongs to. `isOwn`: as `readIsOwn`. */
export function recordFacts(owner: OwnerName | null, facts: readonly (Html | null)[], isOwn = false): Html {
  const whose =
    owner === null
      ? isOwn
        ? html`<span class="quiet">${YOUR_OWN}</span>`
        : null
      : html`
        <span class="visually-hidden">Customer:</span>
        ${icon('customer')}<a class="plain-link" href="/customers/${owner.id}">${owner.name}</a>
      `;
  const shown = [whose, ...facts].flatMap((fact) => (fact === null ? [] : [html`<span>${fact}</span>`]));
  return html`<p class="record-facts">${shown}</p>`;
}
