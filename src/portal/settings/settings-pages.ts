/** `/settings`: the customers' portal, the configuration with the source of each setting, a backup to download, and the versions. */

import { type Config, databaseName, settingsGiven } from '../../config/config.ts';
import { OUTBOUND_NAMES, SETTING_NAMES, SETTINGS, type SettingName } from '../../config/names.ts';
import type { StorageFacts } from '../../data/data.ts';
import type { Download, Downloads } from '../../data/download.ts';
import { auditEntry } from '../../domain/audit.ts';
import { NO_THEME, type PortalTheme } from '../../domain/portal-theme.ts';
import { type Html, html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { VERSION } from '../../kernel/version.ts';
import type { PageCall, View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { definitionList } from '../parts/details.ts';
import { actionButton, linkButton, pageHeader, section } from '../parts/header.ts';
import { folded, table } from '../parts/list.ts';
import { LOOK_PATH } from '../parts/look-place.ts';
import { pageLinks } from '../parts/page-links.ts';
import { countOf, sizeText, spanText } from '../parts/text.ts';

export function settingsPages(dependencies: PageDependencies): PageRoute<'operator'>[] {
  const { pages, config, storage, store } = dependencies;
  const { downloads } = storage;
  return [
    pages.view('/settings', 'operator', async (call) => {
      const [facts, look] = await Promise.all([storage.facts(), store.settings.portalTheme()]);
      return settingsView(call, config, { facts, look: look ?? NO_THEME, hasDownloads: downloads !== null });
    }),
    ...(downloads === null ? [] : [downloadPage(dependencies, downloads)]),
  ];
}

function downloadPage(
  { pages, store, ids, clock, log }: PageDependencies,
  downloads: Downloads,
): PageRoute<'operator'> {
  return pages.act('/settings/backup', 'operator', 'administrator', async ({ acting: { actor }, now, signal }) => {
    const download = await beginDownload(downloads, now, signal);
    await store.audit.append(auditEntry(ids, actor, 'backup.download', `backup:${download.name}`, { at: clock() }));
    log.info({ actor, bytes: download.bytes }, 'a backup is downloaded');
    return {
      reply: {
        status: 200,
        headers: {
          'Content-Type': 'application/vnd.sqlite3',
          'Content-Length': String(download.bytes),
          'Content-Disposition': `attachment; filename="${download.name}"`,
        },
        stream: download.content,
      },
    };
  });
}

/** Bounds concurrent backups: each takes as much disk space as the database until its client has read it. Throws 503. */
async function beginDownload(downloads: Downloads, now: number, signal: AbortSignal): Promise<Download> {
  const download = await downloads.begin(now, signal).catch((error: unknown) => {
    if (signal.aborted) throw new Refusal('unavailable', 'the client closed the connection');
    throw error;
  });
  if (download !== null) return download;
  const headers = { 'Retry-After': '60' };
  throw new Refusal('unavailable', 'another backup is being downloaded: retry when it is finished', { headers });
}

type Shown = { readonly facts: StorageFacts; readonly look: PortalTheme; readonly hasDownloads: boolean };

type Part = Parameters<typeof section>[0] & { readonly id: string };

function settingsView(call: PageCall, config: Config, { facts, look, hasDownloads }: Shown): View {
  const parts: Part[] = [
    customersPortal(config, look),
    ...configuration(config),
    ...(hasDownloads && call.may('administrator') ? [backup(call)] : []),
    versions(facts),
  ];
  const content = html`
    ${pageHeader({ title: 'Settings' })}
    ${pageLinks(parts.map(({ id, title }) => ({ id, label: title })))}
    ${parts.map(section)}
  `;
  return { title: 'Settings', content };
}

/** The section of the settings that can be changed here; it is the first. */
function customersPortal({ portalFrameAncestors }: Config, { name, logo, accent }: PortalTheme): Part {
  const none = html`<span class="quiet">none</span>`;
  return {
    id: 'customers-portal',
    title: 'Customers’ portal',
    lead: 'What your customers see around their endpoints and webhooks.',
    actions: [
      linkButton({
        href: LOOK_PATH,
        label: 'Change the look',
        icon: 'edit',
      }),
    ],
    content: definitionList([
      ['Your name', name ?? none],
      ['Logo', logo === null ? none : 'set'],
      [
        'Accent colour',
        accent === null ? html`<span class="quiet">the portal’s own</span>` : html`<code>${accent}</code>`,
      ],
      [
        'May be embedded in',
        portalFrameAncestors.length === 0
          ? html`<span class="quiet">no page yet</span>`
          : html`${portalFrameAncestors.map((one, at) => html`${at === 0 ? '' : ', '}<code>${one}</code>`)}`,
      ],
    ]),
  };
}

const CONFIGURED = 'Flags of the command or environment variables set these. Restart the server after a change.';

function configuration(config: Config): Part[] {
  const given = settingsGiven(config);
  const changed = SETTING_NAMES.filter((name) => given?.[name] != null);
  const groups = GROUPS.map(({ title, names }) => {
    const rest = names.filter((name) => !changed.includes(name));
    if (rest.length === 0) return null;
    return folded({
      title,
      note: countOf(rest.length, 'setting'),
      isOpen: given === null,
      content: settingTable(config, title, rest),
    });
  });
  const changes: Part = {
    id: 'changed',
    title: 'Changed settings',
    lead: CONFIGURED,
    isPlain: true,
    content: settingTable(config, 'Changed settings', changed),
  };
  return [
    ...(changed.length === 0 ? [] : [changes]),
    {
      id: 'defaults',
      title: given === null ? 'All settings' : 'Defaults',
      lead: changed.length === 0 ? CONFIGURED : 'Settings that nobody has changed.',
      isPlain: true,
      content: html`<div class="folds">${groups}</div>`,
    },
  ];
}

function settingTable(config: Config, caption: string, names: readonly SettingName[]): Html {
  const given = settingsGiven(config);
  const made = table({
    caption,
    columns: [
      { label: 'Setting', kind: 'main' },
      { label: 'Value', phone: 'plain' },
      { label: 'Source', phone: 'named' },
    ],
    rows: names.map((name) => [
      html`<code>${SETTINGS[name].variable}</code><span class="cell-hint">${SETTINGS[name].description}</span>`,
      shownValue(config, name),
      sourceOf(given?.[name], name),
    ]),
  });
  return html`<div class="settings-table">${made}</div>`;
}

const GROUPS: readonly { readonly title: string; readonly names: readonly SettingName[] }[] = [
  {
    title: 'Address and TLS',
    names: ['host', 'port', 'publicUrl', 'tlsCertFile', 'tlsKeyFile', 'trustedProxies', 'portalFrameAncestors'],
  },
  { title: 'Outbound requests', names: [...OUTBOUND_NAMES, 'egressAddresses'] },
  { title: 'Retention', names: ['retentionDeliveredDays', 'retentionDeadDays', 'retentionAttemptsDays'] },
  { title: 'Data and log', names: ['dataDir', 'masterKeyFile', 'databaseUrl', 'databaseListenUrl', 'logLevel'] },
];

function backup({ csrf }: PageCall): Part {
  return {
    id: 'backup',
    title: 'Backup',
    lead: html`
      A consistent copy of the database in one file, without the master key that decrypts its secrets. It contains
      personal data: give it only to people whom you trust with all of it. Use <code>sallyport backup</code> for
      scheduled backups.
    `,
    actions: [actionButton({ action: '/settings/backup', csrf, label: 'Download a backup', icon: 'download' })],
    content: html`
      <p class="hint">Restore it with <code>sallyport restore</code>, which checks the whole file first.</p>
    `,
  };
}

function versions(facts: StorageFacts): Part {
  return {
    id: 'versions',
    title: 'Versions and use',
    content: definitionList([
      ['Sallyport', VERSION],
      ['Schema', `version ${facts.schemaVersion}`],
      ['Node.js', process.version],
      [facts.product, facts.version],
      ['Uptime', spanText(process.uptime() * 1000)],
      ['Memory', sizeText(process.memoryUsage.rss())],
      ['Database', databaseText(facts)],
    ]),
  };
}

function shownValue(config: Config, name: SettingName): Html {
  const value = config[name];
  if (value === null || (Array.isArray(value) && value.length === 0)) return html`<span class="quiet">none</span>`;
  return html`<code>${shownText(value, settingsGiven(config)?.[name]?.text)}</code>`;
}

/** URLs are shown without their credentials. */
function shownText(value: NonNullable<Config[SettingName]>, given: string | undefined): string {
  if (typeof value !== 'object') return String(value);
  if (!('reveal' in value))
    return given ?? (value.every((one) => typeof one === 'string') ? value.join(', ') : `${value.length} blocks`);
  const proxy = URL.parse(value.reveal());
  return proxy?.protocol.startsWith('http') ? `${proxy.protocol}//${proxy.host}` : databaseName(value);
}

function sourceOf(given: { readonly by: string } | null | undefined, name: SettingName): Html {
  if (given === undefined) return html`the embedding program`;
  if (given === null) return html`<span class="quiet">default</span>`;
  return given.by === 'flag' ? html`command line, <code>--${SETTINGS[name].flag}</code>` : html`environment`;
}

function databaseText({ location, bytes, logBytes }: StorageFacts): string {
  const log = logBytes === null ? '' : `, and ${sizeText(logBytes)} in its write-ahead log`;
  return `${location === null ? '' : `${location}, `}${sizeText(bytes)}${log}`;
}
