/** The pages of PGP keys: the list with a chart of expiries, one key, importing, changing and deleting. */

import { EXPIRY_WARNING_DAYS } from '../../domain/limits.ts';
import { DAY_MS } from '../../domain/usage.ts';
import type { PgpKey } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import type { FieldProblem } from '../../kernel/refusal.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import { NO_USES, type Uses } from '../../store/port/directory.ts';
import type { Expiry } from '../../store/port/housekeeping.ts';
import { keyReader, viewKey } from '../../webhooks/keys.ts';
import { type PageCall, pathId, redirectTo, type View } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { codeBlock, copyable, definitionList } from '../parts/details.ts';
import { newForm, refusedForm, textField } from '../parts/fields.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { EXPIRIES_SHOWN } from '../parts/limits.ts';
import { emptyState, firstStep, listView, nothingFound, readListed, table } from '../parts/list.ts';
import { badge, icon, notice, stateBadge } from '../parts/mark.ts';
import { type HeldRecord, removalSection } from '../parts/removal.ts';
import { relativeTime, time } from '../parts/text.ts';
import { type FieldTable, lines, text } from '../record/field-table.ts';
import { ownerFilter, ownerNames, readOwner, withOwner } from '../record/owner.ts';
import { recordPages, removalPages, usesList } from '../record/record-pages.ts';
import { ownerFacts } from '../record/record-tabs.ts';

const LIST = { href: '/keys', label: 'PGP keys' };

export function keyPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, store, clock } = dependencies;
  const { keys } = services;
  const found = (call: PageCall): Promise<PgpKey> => keys.get(pathId(call));
  const usesOf = async (id: string): Promise<Uses | null> => (await store.uses.ofKeys([id])).get(id) ?? null;
  const entity = {
    for: 'both' as const,
    list: LIST,
    noun: 'key',
    nameOf: ({ name }: PgpKey) => name,
    administration: keys,
    owners: store,
    // The service writes `updatedAt` too, when it warns that the key expires.
    settings: (key: PgpKey) => ({ ...viewKey(key, clock()), updatedAt: null }),
  };
  return [
    keyListPage(dependencies),
    ...recordPages(pages, {
      ...entity,
      reader: keyReader,
      choices: async () => null,
      fields: keyFields,
      layout: ({ group }) => group('The key', null, 'name', 'publicKey'),
      refused: (typed, refusal) => refusedForm(withoutPrivateKey(typed), refusal, inWords),
      creation: {
        title: 'Import a key',
        lead: 'Only the public key. The private key stays where the receiver runs.',
        submit: 'Import the key',
        respond: async ({ acting }, input) => {
          const { id, name } = await keys.create(input, acting);
          return redirectTo(`/keys/${id}`, `The key ${name} is imported. Webhooks can use it now.`);
        },
      },
      change: { done: ({ name }) => `The key ${name} is saved.` },
    }),
    pages.view('/keys/{id}', 'both', async (call) => {
      const key = await found(call);
      const [owner, uses] = await Promise.all([readOwner(store, key), usesOf(key.id)]);
      return withOwner(owner, keyView(call, key, owner, uses));
    }),
    ...removalPages(pages, entity, {
      text: () => 'Nothing can be encrypted with it any more. It can be imported again.',
      uses: ({ id }) => usesOf(id),
      used: {
        all: (key: PgpKey) => listOf(key),
        remedy: (count) =>
          count === 1
            ? 'Choose another key for the webhook first, or delete it.'
            : 'Choose another key for these webhooks first, or delete them.',
      },
    }),
  ];
}

function keyFields(before: PgpKey | null): FieldTable {
  return {
    name: text({
      label: 'Name',
      isRequired: true,
      isCode: true,
      placeholder: 'orders-2027',
      hint: 'Receivers see it in X-PGP-Key-Name. Letters, digits, spaces and . _ - @ ( ).',
    }),
    publicKey: lines({
      label: 'Public key',
      isRequired: true,
      isCode: true,
      rows: 12,
      placeholder: '-----BEGIN PGP PUBLIC KEY BLOCK-----',
      takesFile: '.asc,.pgp,.gpg,.txt',
      hint:
        before === null
          ? 'In ASCII armor. It must be able to encrypt; RSA needs at least 2048 bits.'
          : 'The same key with a later expiry, or another key. Retries are encrypted with the new one.',
    }),
  };
}

/** Without the code of the refusal, which is for programs. */
function inWords({ field, problem }: FieldProblem): FieldProblem {
  return { field, problem: problem.replace(/^cannot be used \(\w+\): /, 'cannot be used: ') };
}

/** A private key that was pasted by mistake is not shown again. */
function withoutPrivateKey(typed: URLSearchParams): URLSearchParams {
  const form = new URLSearchParams(typed);
  if (form.get('publicKey')?.includes('PRIVATE KEY')) form.delete('publicKey');
  return form;
}

/** The webhooks that use a key. Another customer may have a key of the same name; a customer's portal needs no filter for that. */
function listOf({ name, customerId }: Pick<PgpKey, 'name' | 'customerId'>): string {
  return `/webhooks?${new URLSearchParams({ key: name, customer: customerId ?? 'own' })}`;
}

function keyView(call: PageCall, key: PgpKey, owner: OwnerName | null, uses: Uses | null): View {
  const { id, name, fingerprint, algorithm, expiresAt, publicKey, createdAt } = key;
  const manages = call.may('administrator');
  const content = html`
    ${pageHeader({
      title: name,
      crumbs: [LIST],
      facts: ownerFacts(owner),
      lead:
        call.session.customerId === null
          ? 'A PGP public key. Compare its fingerprint with the owner over another channel.'
          : 'Your PGP public key. Check that its fingerprint is the one that your own tools show.',
      actions: manages ? [linkButton({ href: `/keys/${id}/edit`, label: 'Change', icon: 'edit' })] : [],
    })}
    ${expiryNotice(key, call, uses)}
    ${section({
      title: 'The key',
      content: definitionList([
        ['Fingerprint', copyable(fingerprint, 'fingerprint', grouped(fingerprint))],
        ['Algorithm', html`<code>${algorithm}</code>`],
        ['Expires', expiresAt === null ? 'never' : html`${time(expiresAt)} (${relativeTime(expiresAt, call.now)})`],
        ['Webhooks', uses === null ? html`<span class="quiet">none uses it</span>` : usesList(uses, listOf(key))],
        ['Imported', time(createdAt)],
      ]),
    })}
    ${codeBlock({ code: publicKey, label: 'Public key, in ASCII armor' })}
    ${manages ? removalSection({ path: `/keys/${id}`, noun: 'key', text: REMOVABLE, held: heldBy(key, uses) }) : null}
  `;
  return { title: name, content };
}

/** Null while no webhook uses it. */
function heldBy(key: PgpKey, uses: Uses | null): HeldRecord | null {
  if (uses === null) return null;
  const { count } = uses;
  return {
    title: `${count === 1 ? 'A webhook encrypts' : `${count} webhooks encrypt`} with it, so it cannot be deleted.`,
    text: `First choose another key for ${count === 1 ? 'this webhook, or delete it' : 'these webhooks, or delete them'}:`,
    list: usesList(uses, listOf(key)),
  };
}

function expiryNotice({ expiresAt }: PgpKey, { now, session }: PageCall, uses: Uses | null): Html | null {
  if (expiresAt === null || expiryTone(expiresAt, now) === 'positive') return null;
  const remedy =
    session.customerId === null
      ? 'Ask the owner for a key with a later expiry, then change this key or the webhooks.'
      : 'Change it to a key with a later expiry, or choose another key in the webhooks.';
  if (expiresAt > now)
    return notice({
      tone: 'caution',
      title: 'It expires soon.',
      text: `Webhooks that use it stop then. ${remedy}`,
    });
  return notice({
    tone: 'negative',
    title: 'It has expired.',
    text: `${uses === null ? 'Nothing can be encrypted with it.' : 'Webhooks that use it are stopped.'} ${remedy}`,
  });
}

const PATH = '/keys';

function keyListPage({ pages, services: { keys }, store }: SharedPageDependencies): PageRoute<'both'> {
  return pages.view(PATH, 'both', async (call) => {
    const { query, now } = call;
    const owner = await ownerFilter(store, query);
    const text = readText(query, 'q');
    const filter = { ...owner.filter, ...(text !== null && { text }) };
    const { items, cursor, nextCursor } = await readListed(
      query,
      (after, limit) => keys.list(after ?? '', limit, filter),
      ({ id }) => id,
    );
    // A key of the operator can have the name of a customer’s.
    const [uses, ownerIn, expiries] = await Promise.all([
      store.uses.ofKeys(items.map(({ id }) => id)),
      ownerNames(store, items),
      store.expiry.all(store.customerId, EXPIRIES_SHOWN),
    ]);
    const isEmpty = items.length === 0 && cursor === null && text === null && !owner.isFiltered;
    return listView({
      title: LIST.label,
      lead:
        store.customerId === null
          ? 'Public keys of receivers. Only the owner of the private key can read what a webhook encrypts with one.'
          : 'Events encrypted with one can only be read with your private key.',
      actions: [call.may('administrator') && !isEmpty ? importButton(owner.newQuery) : null],
      path: PATH,
      query,
      nextCursor,
      above: expiries.length === 0 ? null : timelineSection(expiries, now),
      filters: isEmpty
        ? []
        : [textField(newForm({ q: text }), { name: 'q', label: 'Name', type: 'search' }), ...owner.fields],
      results: keyTable(call, items, { uses, ownerIn, isFiltered: !isEmpty }),
    });
  });
}

function timelineSection(expiries: Parameters<typeof expiryTimeline>[0], now: number): Html {
  return section({
    title: 'Upcoming expiries',
    lead:
      'Keys, and client certificates of endpoints. 30, 7 and 1 days before, webhook.key_expiring is published. ' +
      'With an expired key nothing is sent.',
    content: expiryTimeline(expiries, now),
  });
}

type Beside = {
  readonly uses: ReadonlyMap<string, Uses>;
  readonly ownerIn: Awaited<ReturnType<typeof ownerNames>>;
  readonly isFiltered: boolean;
};

function keyTable(call: PageCall, keys: readonly PgpKey[], { uses, ownerIn, isFiltered }: Beside): Html {
  return table({
    caption: LIST.label,
    columns: [
      { label: 'Name', kind: 'main' },
      { label: 'Fingerprint', phone: 'named' },
      { label: 'Algorithm', phone: 'named' },
      { label: 'Expires', phone: 'state' },
      { label: 'Webhooks', phone: 'named' },
    ],
    rows: keys.map(({ id, customerId, name, fingerprint, algorithm, expiresAt }) => [
      html`<a href="${PATH}/${id}">${name}</a>${ownerIn(customerId)}`,
      copyable(fingerprint, 'fingerprint', `… ${grouped(fingerprint.slice(-16))}`),
      html`<code>${algorithm}</code>`,
      expiryCell(expiresAt, call.now),
      usesList(uses.get(id) ?? NO_USES, listOf({ name, customerId })),
    ]),
    empty: isFiltered ? nothingFound(PATH, 'keys') : firstKey(call),
  });
}

const REMOVABLE = 'No webhook uses it: it can be deleted.';

/** In groups of four digits, which are easier to compare. */
function grouped(fingerprint: string): string {
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

/** A test runs them. */
export const GNUPG_COMMANDS: readonly { readonly label: string; readonly command: string }[] = [
  {
    label: 'Create a key pair that is valid for two years',
    command: 'gpg --quick-generate-key webhooks@your-company.example \\\n  future-default default 2y',
  },
  { label: 'Show its public key', command: 'gpg --armor --export webhooks@your-company.example' },
];

function firstKey(call: PageCall): Html {
  const what =
    call.session.customerId === null
      ? 'Employee events, and event types that require encryption, are'
      : 'Event types that require encryption are';
  return emptyState({
    title: 'Import your first key',
    text: html`
      <p>
        ${what} sent only encrypted. Create a PGP key pair where the receiver runs, for example with GnuPG. Import its
        public key here, and choose it in a webhook.
      </p>
      <div class="stack commands">
        ${GNUPG_COMMANDS.map(({ label, command }) => codeBlock({ label, code: command }))}
      </div>
    `,
    action: firstStep(call, 'import', importButton),
  });
}

function importButton(query = ''): Html {
  return linkButton({ href: `${PATH}/new${query}`, label: 'Import a key', kind: 'primary', icon: 'plus' });
}

/** The length of the axis. A later expiry fills the whole bar. */
const SPAN_MS: number = 365 * DAY_MS;
const MARKS: readonly string[] = ['today', '3 months', '6 months', '9 months', 'a year'];
const WARNED_MS: number = Math.max(...EXPIRY_WARNING_DAYS) * DAY_MS;
const URGENT_MS: number = 7 * DAY_MS;

/** The tone by the time until expiry. */
export function expiryTone(expiresAt: number, now: number): 'negative' | 'caution' | 'positive' {
  const left = expiresAt - now;
  return left <= URGENT_MS ? 'negative' : left <= WARNED_MS ? 'caution' : 'positive';
}

function expiryTimeline(expiries: readonly Expiry[], now: number): Html {
  const rows = expiries.map((expiry) => {
    const { kind, id, name, expiresAt } = expiry;
    const href = kind === 'key' ? `/keys/${id}` : `/endpoints/${id}/settings#credentials`;
    const what = kind === 'key' ? 'key' : 'client certificate of';
    return html`
      <li class="expiry expiry-${expiryTone(expiresAt, now)}">
        <span class="expiry-name">
          <span class="expiry-kind">
            ${icon(kind === 'key' ? 'key' : 'endpoint')}
            <span class="visually-hidden">${what} </span>
          </span>
          <a href="${href}">${name}</a>
        </span>
        ${bar(expiresAt, now)}
        <span class="expiry-when">${expiresAt <= now ? 'expired ' : ''}${relativeTime(expiresAt, now)}</span>
      </li>
    `;
  });
  const marks = MARKS.map((mark) => html`<span>${mark}</span>`);
  return html`
    <div class="expiries">
      <div class="expiry-marks" aria-hidden="true"><p class="expiry-scale">${marks}</p></div>
      <ol>${rows}</ol>
    </div>
  `;
}

const WIDTH = 400;
const HEIGHT = 10;

function bar(expiresAt: number, now: number): Html {
  const left = Math.min(Math.max(expiresAt - now, 0), SPAN_MS);
  const length = Math.max(Math.round((left / SPAN_MS) * WIDTH), left === 0 ? 0 : 3);
  const marks = [1, 2, 3].map((quarter) => {
    const x = (WIDTH / 4) * quarter;
    return html`<line class="expiry-mark" x1="${x}" y1="0" x2="${x}" y2="${HEIGHT}"/>`;
  });
  const warned = Math.round((WARNED_MS / SPAN_MS) * WIDTH);
  return html`
    <svg
      class="expiry-bar"
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <rect class="expiry-track" width="${WIDTH}" height="${HEIGHT}"/>
      <rect class="expiry-left" width="${length}" height="${HEIGHT}"/>
      ${marks}
      <line class="expiry-warned" x1="${warned}" y1="0" x2="${warned}" y2="${HEIGHT}"/>
    </svg>
  `;
}
