/** The pages of PGP keys: the list, one key, importing, changing and deleting. */

import { type Html, html } from '../../http/html.ts';
import type { Uses } from '../../store/directory.ts';
import { keyReader } from '../../webhooks/keys.ts';
import type { PgpKey } from '../../webhooks/webhook.ts';
import { type PageCall, pathId, redirectTo, type View } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import { type FieldTable, lines, text } from '../field-table.ts';
import type { PageRoute } from '../page.ts';
import { linkButton } from '../parts/button.ts';
import { codeBlock, copyable } from '../parts/code.ts';
import { definitionList } from '../parts/details.ts';
import { refusedForm } from '../parts/form-state.ts';
import { pageHeader, section } from '../parts/header.ts';
import { notice } from '../parts/notice.ts';
import { relativeTime, time } from '../parts/time.ts';
import { recordPages, removalPages } from '../record-pages.ts';
import { usesList } from '../webhooks/uses.ts';
import { grouped, keyListPage } from './list.ts';
import { expiryTone } from './timeline.ts';

const LIST = { href: '/keys', label: 'Keys' };

export function keyPages(dependencies: PageDependencies): PageRoute[] {
  const { pages, services, store } = dependencies;
  const { keys } = services;
  const found = (call: PageCall): Promise<PgpKey> => keys.get(pathId(call));
  const usesOf = async (name: string): Promise<Uses | null> => (await store.uses.ofKeys([name])).get(name) ?? null;
  const entity = { list: LIST, noun: 'key', nameOf: ({ name }: PgpKey) => name, administration: keys };
  return [
    keyListPage(dependencies),
    ...recordPages(pages, {
      ...entity,
      reader: keyReader,
      choices: async () => null,
      fields: keyFields,
      layout: ({ group }) => group('The key', null, 'name', 'publicKey'),
      refused: (typed, refusal) => refusedForm(withoutPrivateKey(typed), refusal),
      creation: {
        title: 'Import a key',
        lead: 'The public half of a key pair that the customer made. The private half stays with the customer.',
        submit: 'Import the key',
        respond: async ({ acting }, input) => {
          const { id, name } = await keys.create(input, acting);
          return redirectTo(`/keys/${id}`, `The key ${name} is imported. Webhooks can name it now.`);
        },
      },
      change: { done: ({ name }) => `The key ${name} is saved.` },
    }),
    pages.view('/keys/{id}', async (call) => {
      const key = await found(call);
      return keyView(call, key, await usesOf(key.name));
    }),
    ...removalPages(pages, entity, {
      text: () => 'Nothing can be encrypted for it any more. The customer, who has it, can give it to you again.',
      uses: ({ name }) => usesOf(name),
      used: {
        all: ({ name }) => listOf(name),
        remedy: 'Have them encrypt for another key first, or delete them.',
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
      placeholder: 'customer-2027',
      hint: 'Webhooks refer to it, and receivers see it in X-PGP-Key-Name: letters, digits, dots, dashes, underscores.',
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
          ? 'In ASCII armor. It has to be able to encrypt; RSA needs 2048 bits or more.'
          : 'The same key with a later end, or another one: retries are encrypted for what stands here.',
    }),
  };
}

/** A private key that was pasted by mistake is not shown again. */
function withoutPrivateKey(typed: URLSearchParams): URLSearchParams {
  const form = new URLSearchParams(typed);
  if (form.get('publicKey')?.includes('PRIVATE KEY')) form.delete('publicKey');
  return form;
}

function listOf(name: string): string {
  return `/webhooks?key=${encodeURIComponent(name)}`;
}

function keyView(call: PageCall, key: PgpKey, uses: Uses | null): View {
  const { id, name, fingerprint, algorithm, expiresAt, publicKey, createdAt } = key;
  const manages = call.may('administrator');
  const content = html`${pageHeader({
    title: name,
    crumbs: [LIST],
    lead: 'A PGP public key. Compare the fingerprint with its owner, on another way than the key came.',
    actions: manages
      ? [
          linkButton({ href: `/keys/${id}/delete`, label: 'Delete', icon: 'trash' }),
          linkButton({ href: `/keys/${id}/edit`, label: 'Change', icon: 'edit' }),
        ]
      : [],
  })}${expiryNotice(expiresAt, call.now, uses)}${section({
    title: 'The key',
    content: definitionList([
      [
        'Fingerprint',
        html`<span class="fingerprint">${copyable(fingerprint, 'fingerprint', grouped(fingerprint))}</span>`,
      ],
      ['Algorithm', html`<code>${algorithm}</code>`],
      ['Expires', expiresAt === null ? 'never' : html`${time(expiresAt)} (${relativeTime(expiresAt, call.now)})`],
      [
        'Webhooks',
        uses === null ? html`<span class="quiet">none encrypts for it</span>` : usesList(uses, listOf(name)),
      ],
      ['Imported', time(createdAt)],
    ]),
  })}${codeBlock({ code: publicKey, label: 'Public key, in ASCII armor' })}`;
  return { title: name, content };
}

function expiryNotice(expiresAt: number | null, now: number, uses: Uses | null): Html | null {
  if (expiresAt === null || expiryTone(expiresAt, now) === 'positive') return null;
  const remedy = 'Ask its owner for the key with a later end, or for another, and change this one or the webhooks.';
  if (expiresAt > now)
    return notice({
      tone: 'caution',
      title: 'It expires soon.',
      text: `Webhooks that use it will stop then. ${remedy}`,
    });
  return notice({
    tone: 'negative',
    title: 'It has expired.',
    text: `${uses === null ? 'Nothing can be encrypted for it.' : 'Webhooks that use it do not run.'} ${remedy}`,
  });
}
