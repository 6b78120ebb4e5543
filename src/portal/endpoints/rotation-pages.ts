/** Rotating the secret or the API key of an endpoint, immediately or later, so that the receiver can accept both until then. */
import type { Endpoint } from '../../domain/endpoint.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { signsStandard } from '../../domain/webhook-format.ts';
import { type Html, html } from '../../http/html.ts';
import { validate } from '../../kernel/validation.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import { rotateApiKeyInput, rotateInput } from '../../webhooks/endpoint-schema.ts';
import { attempted, type PageCall, pathId, redirectTo, type View } from '../frame/call.ts';
import type { PageDefinition, PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { type Result, resultOf } from '../frame/results.ts';
import { codeBlock, type Showing, secretBox } from '../parts/details.ts';
import { type FormState, refusedForm } from '../parts/fields.ts';
import { confirmPage, fieldGroup, moreFields } from '../parts/form.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { notice } from '../parts/mark.ts';
import { shortTime, time } from '../parts/text.ts';
import {
  type FieldTable,
  type FormField,
  fillForm,
  numberOf,
  oneOf,
  readForm,
  secretText,
  select,
  text,
  titlesOf,
  withoutSecrets,
} from '../record/field-table.ts';
import { ownedCrumbs, ownedName, readOwner } from '../record/owner.ts';
import { recordForm } from '../record/record-form.ts';
import { formView } from '../record/record-pages.ts';
import { waitsUntil } from './endpoint-detail.ts';
import { endpointSettings } from './endpoint-form.ts';
import { ENDPOINTS, secretRenewal } from './receiver-pages.ts';

export function rotationPages({
  pages,
  results,
  services: { endpoints },
  store,
  clock,
}: SharedPageDependencies): PageRoute<'both'>[] {
  const secretDone: PageDefinition<PageCall>['respond'] = (call) =>
    results.once(call, async () => {
      const body = readForm(rotationFields(SECRET, call.now), call.form);
      const { endpoint, newSecret } = await endpoints.rotateSecret(
        pathId(call),
        validate(rotateInput, body),
        call.acting,
      );
      const owner = await readOwner(store, endpoint);
      return newSecretResult(call, { endpoint, owner }, body.secret === undefined ? newSecret.reveal() : null);
    });
  const apiKeyDone: PageDefinition<PageCall>['respond'] = async (call) => {
    const input = validate(rotateApiKeyInput, readForm(rotationFields(API_KEY, call.now), call.form));
    const endpoint = await endpoints.rotateApiKey(pathId(call), input, call.acting);
    const done =
      waitsUntil(endpoint.nextApiKeyAt, call.now) === null
        ? 'The new API key is sent from now on.'
        : 'The new API key is scheduled. Give it to the receiver.';
    return redirectTo(`/endpoints/${endpoint.id}/settings#credentials`, done);
  };
  return (
    [
      [SECRET, secretDone],
      [API_KEY, apiKeyDone],
    ] as const
  ).flatMap(([credential, respond]) => {
    return pages.form(
      `/endpoints/{id}/${credential.action}`,
      'both',
      recordForm({
        administration: endpoints,
        settings: (endpoint) => endpointSettings(endpoint, clock()),
        fill: () =>
          fillForm(rotationFields(credential, clock()), { activateAfterSeconds: DAY_SECONDS, overlapSeconds: 0 }),
        view: async (call, endpoint, state) => {
          const [owner, webhooks] = await Promise.all([
            readOwner(store, endpoint),
            store.webhooks.ofEndpoint(endpoint.id),
          ]);
          return rotationView(call, { endpoint, owner, webhooks }, credential, state);
        },
        refused: (typed, refusal) => refusedForm(withoutSecrets(rotationFields(credential, clock()), typed), refusal),
        respond,
      }),
    );
  });
}

/** The scheduled secret signs from now on: asks first, as everything that replaces a secret. */
export function nextSecretPages({
  pages,
  services: { endpoints },
  store,
  clock,
}: SharedPageDependencies): PageRoute<'both'>[] {
  return pages.form(
    '/endpoints/{id}/use-next-secret',
    'both',
    recordForm({
      administration: endpoints,
      settings: (endpoint) => endpointSettings(endpoint, clock()),
      view: async ({ csrf }, endpoint, form) => {
        const path = `/endpoints/${endpoint.id}`;
        const owner = await readOwner(store, endpoint);
        return confirmPage({
          title: `Use the new secret of ${ownedName(endpoint.name, owner)} now?`,
          crumbs: ownedCrumbs(ENDPOINTS, owner, { href: path, label: endpoint.name }),
          text: 'It signs from the next request on. Deliveries fail until the receiver has it, and are retried.',
          form,
          csrf,
          action: `${path}/use-next-secret`,
          submit: 'Use the new secret',
          cancel: `${path}/settings`,
        });
      },
      respond: async ({ acting }, { id }) =>
        attempted(`/endpoints/${id}/settings#credentials`, 'The new secret signs from now on.', () =>
          endpoints.useNextSecret(id, acting),
        ),
    }),
  );
}

export const DAY_SECONDS = 86_400;

type Credential = {
  readonly action: string;
  readonly field: 'secret' | 'apiKey';
  readonly noun: string;
  readonly lead: string;
  readonly own: Html | string;
};

const SECRET: Credential = {
  action: 'rotate-secret',
  field: 'secret',
  noun: 'secret',
  lead:
    'The next page shows the new secret once. Add it to the receiver beside the old one, and remove the old one once the new ' +
    'one signs.',
  own: 'Base64, with or without whsec_, or any text. If empty, 32 random bytes are generated (recommended).',
};
const API_KEY: Credential = {
  action: 'rotate-api-key',
  field: 'apiKey',
  noun: 'API key',
  lead:
    'The next page has the new API key. Add it to the receiver beside the old one, and remove the old one once the new one ' +
    'is sent.',
  own: '32 hexadecimal digits. If empty, a key is generated.',
};

function rotationFields({ field, noun, own }: Credential, now: number): FieldTable {
  const given = { label: `New ${noun}`, autocomplete: 'off', hint: own } as const;
  return {
    activateAfterSeconds: activationField(`new ${noun}`, now),
    ...(field === 'secret' && {
      overlapSeconds: select(
        {
          label: 'After that, the old secret also signs',
          isRequired: true,
          choices: OVERLAPS,
          hint: 'Signatures of Standard Webhooks only: a request has both, so a receiver with one secret keeps working.',
        },
        { read: numberOf },
      ),
    }),
    [field]: field === 'secret' ? secretText(given) : text({ ...given, isCode: true }),
  };
}

type Owned = { readonly endpoint: Endpoint; readonly owner: OwnerName | null };

/** `webhooks`: that send to the endpoint. */
function rotationView(
  { csrf, now }: PageCall,
  { endpoint, owner, webhooks }: Owned & { readonly webhooks: readonly Webhook[] },
  credential: Credential,
  state: FormState,
): View {
  const { id, name } = endpoint;
  const { noun, field, action, lead } = credential;
  const waits = waitsUntil(field === 'secret' ? endpoint.nextSecretAt : endpoint.nextApiKeyAt, now);
  const { overlapSeconds, ...always } = rotationFields(credential, now);
  const table = {
    ...always,
    ...(overlapSeconds !== undefined && webhooks.some(signsStandard) && { overlapSeconds }),
  };
  const {
    [field]: given,
    overlapSeconds: overlap,
    ...when
  } = Object.fromEntries(Object.entries(table).map(([name, one]) => [name, one.draw(state, name)]));
  return formView({
    title: `New ${noun} for ${ownedName(name, owner)}`,
    crumbs: ownedCrumbs(ENDPOINTS, owner, { href: `/endpoints/${id}`, label: name }),
    lead,
    csrf,
    state,
    titles: titlesOf(table),
    above: scheduledNotice(noun, 'create', waits),
    action: `/endpoints/${id}/${action}`,
    content: html`
      ${Object.values(when)}
      ${overlap === undefined ? null : fieldGroup('Standard Webhooks', null, [overlap])}
      ${moreFields(`Use an existing ${noun}`, state, [field], [given ?? null])}
    `,
    submit: `Create the new ${noun}`,
    cancel: `/endpoints/${id}/settings`,
  });
}

const DELAYS: readonly (readonly [seconds: number, label: string])[] = [
  [3600, 'In an hour'],
  [DAY_SECONDS, 'In a day'],
  [3 * DAY_SECONDS, 'In 3 days'],
  [7 * DAY_SECONDS, 'In 7 days'],
];

/** When the new credential replaces the old one. `noun`: `new secret`. */
export function activationField(noun: string, now: number): FormField {
  return oneOf(
    {
      label: `When the ${noun} is used`,
      choices: [
        {
          value: '0',
          label: 'Immediately',
          hint: 'Only if the old one has leaked: deliveries fail until the receiver has the new one.',
        },
        ...DELAYS.map(([seconds, label]) => ({
          value: String(seconds),
          label,
          hint: html`From ${shortTime(now + seconds * 1000)} on.`,
        })),
      ],
    },
    { read: numberOf },
  );
}

const OVERLAPS = [
  { value: '0', label: 'no longer' },
  { value: '3600', label: 'for another hour' },
  { value: String(DAY_SECONDS), label: 'for another day' },
  { value: String(7 * DAY_SECONDS), label: 'for another 7 days' },
];

/** `secret` is null if the user entered it. */
function newSecretResult({ now }: PageCall, { endpoint, owner }: Owned, secret: string | null): Result {
  const { id, name, nextSecretAt } = endpoint;
  const title = `New secret for ${ownedName(name, owner)}`;
  const waits = waitsUntil(nextSecretAt, now);
  const from =
    waits === null
      ? notice({
          tone: 'caution',
          title: 'The new secret signs from now on.',
          text: 'Deliveries fail and are retried until the receiver has it.',
        })
      : notice({
          tone: 'info',
          title: 'The new secret is scheduled.',
          text: html`
            The old secret signs until ${time(waits)}, the new one from then on. Give it to the receiver before then, beside
            the old one.
          `,
        });
  const box = (value: string, showing: Showing): Html =>
    section({
      title: 'For the receiver',
      content: html`
        <div class="stack">
          ${secretBox(
            {
              label: 'New secret',
              value,
              note: 'It is stored encrypted and cannot be shown again.',
              renewal: secretRenewal(id),
            },
            showing,
          )}
          ${showing === 'later' ? null : environment(value, waits !== null)}
        </div>
      `,
    });
  const header = pageHeader({
    title,
    crumbs: ownedCrumbs(ENDPOINTS, owner, { href: `/endpoints/${id}`, label: name }),
  });
  const onwards = html`
    <div class="buttons result-next">
      ${linkButton({
        href: `/endpoints/${id}/settings`,
        label: secret === null ? 'Go to the endpoint' : `I have stored the secret: go to ${name}`,
        kind: 'primary',
      })}
    </div>
  `;
  return resultOf(title, (showing) => html`${header}${from}${secret === null ? null : box(secret, showing)}${onwards}`);
}

/** The line that gives it to the programs of the guide, which read one secret per line. It was generated, so it has no quotes. */
function environment(secret: string, isBeside: boolean): Html {
  const code = isBeside ? `export WEBHOOK_SECRETS="$WEBHOOK_SECRETS\n${secret}"` : `export WEBHOOK_SECRETS='${secret}'`;
  return html`
    ${codeBlock({ label: 'For the environment of the program', code })}
    ${isBeside ? html`<p class="hint">It adds the new secret on a line of its own. Then restart the program.</p>` : null}
  `;
}

/** Above the form, if another new one is scheduled for `at`. */
export function scheduledNotice(noun: string, verb: 'create' | 'set', at: number | null): Html | null {
  if (at === null) return null;
  return notice({
    tone: 'caution',
    title: `Another new ${noun} is already scheduled.`,
    text: html`It would be used from ${time(at)} on. The one that you ${verb} here replaces it.`,
  });
}
