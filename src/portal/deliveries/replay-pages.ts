/** `/deliveries/replay`: sends many deliveries of a webhook again. The page first shows how many. */

import type { WebhookState } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import { type Refusal, refuseBackwards, refuseField } from '../../kernel/refusal.ts';
import { isoInstant } from '../../kernel/schemas.ts';
import type { ReplayRequest } from '../../webhooks/deliveries.ts';
import { type PageCall, type PageResult, redirectTo, type View } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readChoice, readInstant, readText } from '../frame/query.ts';
import {
  type FormState,
  idOf,
  newForm,
  refusedForm,
  type Suggestion,
  selectField,
  textField,
} from '../parts/fields.ts';
import { errorSummary } from '../parts/form.ts';
import { type ButtonKind, linkButton, pageHeader, section, submitButton } from '../parts/header.ts';
import { emptyState, folded } from '../parts/list.ts';
import { notice } from '../parts/mark.ts';
import { countOf, countText } from '../parts/text.ts';
import { causeText } from '../record/causes.ts';
import { shownWebhook, webhookField } from '../record/webhook-choice.ts';
import { withWebhookId } from './delivery-scope.ts';
import { DELIVERIES_PATH } from './delivery-tabs.ts';
import { deadSection } from './failure-pages.ts';
import { CAUSES_PATH, causeLinks, causeSuggestions, readCauses, replayCausePage } from './replay-causes.ts';
import { responseOf } from './search-text.ts';
import { notRunning, toldSentAgain } from './sending-again.ts';

const PATH = `${DELIVERIES_PATH}/replay`;
/** At most a page of the list. */
const SENT_LISTED = 100;
const NAMES = ['webhook', 'state', 'cause', 'orderingKey', 'since', 'until'] as const;
const LABELS = {
  webhook: 'Webhook',
  state: 'State',
  cause: 'Cause',
  orderingKey: 'Ordering key',
  since: 'Published from',
  until: 'Published until',
};

type AskedReplay = {
  readonly webhookId: string;
  readonly input: ReplayRequest;
};

export function deliveryReplayPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, store } = dependencies;
  const view = async (call: PageCall, sent: URLSearchParams, refusal: Refusal | null): Promise<View> => {
    const fields = await withWebhookId(store, sent);
    const asked = refusal === null ? readReplay(fields) : null;
    const count = asked === null ? null : await services.deliveries.countReplay(asked.webhookId, asked.input);
    const webhook = asked === null ? null : await store.webhooks.get(asked.webhookId);
    const name = await nameOf(readText(fields, 'webhook'));
    const typed = new URLSearchParams(Object.fromEntries(NAMES.map((field) => [field, fields.get(field) ?? ''])));
    typed.set('webhook', name);
    const state = refusal === null ? newForm(Object.fromEntries(typed)) : refusedForm(typed, refusal);
    const causes = await readCauses(store, fields);
    const dead = refusal === null && asked === null ? await deadSection(dependencies, call.now) : null;
    const which = whichForm(state, {
      kind: count === null ? 'primary' : 'plain',
      causes: causeSuggestions(causes, fields),
      isOfOperator: store.customerId === null,
    });
    const content = html`
      ${HEADER}
      ${dead}
      ${
        count === null
          ? null
          : countSection(call, fields, {
              count,
              name,
              state: webhook?.progress.state ?? 'stopped',
              webhookId: asked?.webhookId ?? '',
              pending: asked === null ? 0 : ((await store.directory.webhook(asked.webhookId))?.pendingRecords ?? 0),
              narrower: asked?.input.states?.join() === 'dead' ? narrowerOf(fields, causes, count) : null,
            })
      }
      ${
        count === null
          ? section({ title: dead === null ? 'Which deliveries' : 'Or choose the deliveries yourself', content: which })
          : folded({
              title: 'Choose others',
              note: 'webhook, state, period, cause',
              content: which,
              isOpen: count === 0,
            })
      }
    `;
    return { title: TITLE, content };
  };
  /** The list of the deliveries that are about to be sent again: their offsets, if they are not more than a page. */
  const placeOfSent = async ({ webhookId, input }: AskedReplay): Promise<string> => {
    const { cause, orderingKey, since, until, states } = input;
    const wanted = states?.length === 1 ? states[0] : undefined;
    const { items, next } = await services.deliveries.list(
      {
        webhookId,
        ...(wanted !== undefined && { state: wanted }),
        ...(cause !== undefined && { response: responseOf(cause) ?? { errorClasses: [cause] } }),
        ...(orderingKey !== undefined && { orderingKey }),
        ...(since !== undefined && { since: Date.parse(since) }),
        ...(until !== undefined && { until: Date.parse(until) }),
      },
      null,
      SENT_LISTED,
    );
    const offsets = items.map(({ offset }) => offset);
    const isWhole = next === null && offsets.length > 0;
    const q = isWhole ? { q: `#${Math.min(...offsets)}-${Math.max(...offsets)}` } : {};
    return `${DELIVERIES_PATH}?${new URLSearchParams({ webhook: webhookId, ...q })}`;
  };
  /** Shown for the webhook with this id; another text as it was typed. */
  const nameOf = async (text: string | null): Promise<string> => {
    const webhook = text === null || !isUuidV7(text) ? null : await store.webhooks.get(text);
    return webhook === null ? (text ?? '') : shownWebhook(store, webhook);
  };
  return [
    replayCausePage(dependencies),
    pages.page(PATH, 'both', 'operator', {
      respond: async (call) => {
        const { items } = await services.deliveries.list({}, null, 1);
        return items.length === 0 ? NOTHING_YET : view(call, call.query, null);
      },
      invalid: (call, refusal) => view(call, call.query, refusal),
    }),
    pages.act(PATH, 'both', 'operator', {
      respond: async ({ form, acting }): Promise<PageResult> => {
        const replay = readReplay(form);
        if (replay === null) throw refuseField('webhook', 'is required');
        const there = await placeOfSent(replay);
        if (form.get('start') !== null) await services.webhooks.start(replay.webhookId, acting);
        const { replayed } = await services.webhooks.replay(replay.webhookId, replay.input, acting);
        if (replayed === 0) return redirectTo(there, 'There was nothing to send again.');
        const { id, name, progress } = await services.webhooks.get(replay.webhookId);
        const sent = { webhookId: id, webhookName: name, webhookState: progress.state, count: replayed };
        return { redirect: there, flash: await toldSentAgain(store, [sent]) };
      },
      invalid: (call, refusal) => view(call, call.form, refusal),
    }),
  ];
}

const TITLE = 'Send many again';
const LEAD =
  'Send deliveries again that were given up, or that the receiver lost after it accepted them. They keep their ' +
  'message ids: a receiver that checks these ids drops the ones it already has.';

const HEADER = pageHeader({ title: TITLE, lead: LEAD, crumbs: [{ href: DELIVERIES_PATH, label: 'Deliveries' }] });
const NOTHING_YET: View = {
  title: TITLE,
  content: html`
    ${HEADER}
    ${emptyState({
      title: 'No deliveries yet',
      text: 'Once events are delivered, you can choose here which ones to send again.',
      action: linkButton({ href: DELIVERIES_PATH, label: 'Deliveries' }),
    })}
  `,
};

/** Null before a choice. Throws 400 without a webhook, for an invalid range, and for delivered records without one. */
function readReplay(fields: URLSearchParams): AskedReplay | null {
  const webhookId = readText(fields, 'webhook');
  // The form sends the field, even if it is empty. Links to the page do not.
  if (webhookId === null && fields.has('webhook')) throw refuseField('webhook', 'is required: choose one');
  if (webhookId === null) return null;
  if (!isUuidV7(webhookId)) throw refuseField('webhook', 'is not the name of one webhook. Choose a suggested name');
  const which = readChoice(fields, 'state', ['dead', 'delivered', 'both'] as const) ?? 'dead';
  const cause = which === 'dead' ? readText(fields, 'cause') : null;
  const orderingKey = readText(fields, 'orderingKey');
  const since = readInstant(fields, 'since');
  const until = readInstant(fields, 'until');
  if (which !== 'dead' && since === null) {
    throw refuseField('since', 'is required. Without it, everything that was ever delivered would be sent again');
  }
  refuseBackwards(since, until, 'from');
  return {
    webhookId,
    input: {
      states: which === 'both' ? ['dead', 'delivered'] : [which],
      ...(cause !== null && { cause }),
      ...(orderingKey !== null && { orderingKey }),
      ...(since !== null && { since: isoInstant(since) }),
      ...(until !== null && { until: isoInstant(until) }),
    },
  };
}

type Which = {
  readonly kind: ButtonKind;
  readonly causes: readonly Suggestion[];
  readonly isOfOperator: boolean;
};

function whichFields(state: FormState, { causes, isOfOperator }: Which): Html[] {
  const isOfDead = state.value('state') === '' || state.value('state') === 'dead';
  return [
    webhookField(state, {
      isRequired: true,
      placeholder: isOfOperator ? 'Name of the webhook or its customer' : 'Name of the webhook',
    }),
    selectField(state, {
      name: 'state',
      label: LABELS.state,
      isRequired: true,
      choices: WHICH,
    }),
    textField(state, {
      name: 'since',
      label: 'Published from (UTC)',
      type: 'datetime-local',
      isRequired: !isOfDead,
      hint: isOfDead ? 'Needed only for delivered ones.' : 'Delivered ones are sent again from then on.',
    }),
    textField(state, {
      name: 'until',
      label: 'Published until (UTC)',
      type: 'datetime-local',
      hint: 'Without it, all until now.',
    }),
    textField(state, {
      name: 'cause',
      label: LABELS.cause,
      placeholder: 'Any',
      hint:
        state.value('webhook') === ''
          ? 'Choose the webhook to see its causes.'
          : 'Why the deliveries were given up. Only for dead ones.',
      suggestions: causes,
    }),
    textField(state, {
      name: 'orderingKey',
      label: LABELS.orderingKey,
      placeholder: 'Any',
      hint: 'Only events with this key, which keeps them in order.',
    }),
  ];
}

function whichForm(state: FormState, which: Which): Html {
  // The causes are those of the webhook and the span that are chosen.
  const follow = attributes({
    'data-hx-get': CAUSES_PATH,
    'data-hx-trigger': "change from:'closest form'",
    'data-hx-include': 'closest form',
    'data-hx-target': `#${idOf('cause')}-list`,
    'data-hx-swap': 'innerHTML',
    'data-hx-sync': 'this:replace',
  });
  return html`
    <form method="get" action="${PATH}" class="form" novalidate data-leave-out-empty>
      ${errorSummary(state, LABELS, 'Check the selection')}
      <div class="fields fields-pairs"${follow}>${whichFields(state, which)}</div>
      <div class="buttons form-buttons">
        ${submitButton({ label: 'Preview', kind: which.kind })}
        <span class="quiet">You see the number before anything is sent.</span>
      </div>
    </form>
  `;
}

const WHICH = [
  { value: 'dead', label: 'Dead: given up' },
  { value: 'delivered', label: 'Delivered: accepted by the receiver' },
  { value: 'both', label: 'Dead and delivered' },
];

type Counted = {
  readonly count: number;
  readonly name: string;
  readonly state: WebhookState;
  readonly webhookId: string;
  /** Of the webhook: these are sent too once it is started. */
  readonly pending: number;
  /** Leads to fewer of them. */
  readonly narrower: Html | null;
};

/** An ordering key leaves fewer of each cause than were counted. */
function narrowerOf(
  fields: URLSearchParams,
  causes: Awaited<ReturnType<typeof readCauses>>,
  count: number,
): Html | null {
  const isOpen = readText(fields, 'cause') === null && readText(fields, 'orderingKey') === null;
  return isOpen ? causeLinks(PATH, fields, causes, count) : null;
}

function countSection({ csrf }: PageCall, fields: URLSearchParams, counted: Counted): Html {
  const { count, name, state, narrower } = counted;
  if (count === 0) {
    return notice({ tone: 'info', title: `No delivery of ${name} matches.`, text: 'There is nothing to send again.' });
  }
  const cause = readText(fields, 'cause');
  const found = countOf(count, 'delivery', undefined, 'deliveries');
  const runs = isRunnable(state);
  const hidden = NAMES.map((field) => html`<input type="hidden" name="${field}" value="${fields.get(field) ?? ''}">`);
  return section({
    title: `${found} of ${name}${cause === null ? '' : ` failed with ${causeText(cause)}`}`,
    ...(runs && { lead: "They are sent immediately, subject to the webhook's order and rate limit." }),
    id: 'count',
    content: html`
      <form method="post" action="${PATH}" class="form" data-once>
        ${csrf}
        ${hidden}
        ${narrower}
        ${runs ? null : waitNotice(counted)}
        <div class="buttons form-buttons">
          ${
            runs
              ? null
              : submitButton({
                  name: 'start',
                  value: 'yes',
                  label: `Start, and send ${countText(count)} again`,
                  longLabel: `Start, and send ${countText(count)} again: ${name}`,
                  kind: 'primary',
                  icon: 'play',
                })
          }
          ${submitButton(runs ? { label: `Send ${found} again`, kind: 'primary', icon: 'replay' } : AT_NEXT_START)}
          ${linkButton({ href: DELIVERIES_PATH, label: 'Cancel' })}
        </div>
      </form>
    `,
  });
}

const AT_NEXT_START = { label: 'Send again at its next start', kind: 'plain', icon: 'clock' } as const;

/** Before a webhook that does not run is started: how much is sent then, and how to find out whether it arrives. */
function waitNotice({ count, name, state, webhookId, pending }: Counted): Html {
  const others =
    pending === 0
      ? ''
      : ` A start also sends its ${countOf(pending, 'pending delivery', undefined, 'pending deliveries')}.`;
  const waits = count === 1 ? 'The delivery waits' : `The ${countText(count)} deliveries wait`;
  const test = html` <a href="/webhooks/${webhookId}#test-button">Send a test event</a> first, to see whether it arrives.`;
  return notice({
    tone: 'caution',
    text: html`<p>${name} ${notRunning(state)}. ${waits} until the webhook is started.${others}${state === 'failed' ? test : null}</p>`,
  });
}
