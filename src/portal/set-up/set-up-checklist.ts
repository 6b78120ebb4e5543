/** The steps to the first delivery, for new users. */
import { isUnverified } from '../../domain/endpoint.ts';
import type { PortalRole } from '../../domain/user.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { Store } from '../../store/port/store.ts';
import { GUIDE_PATH } from '../endpoints/guide-text.ts';
import { mayAct } from '../frame/call.ts';
import { linkButton, section } from '../parts/header.ts';
import { icon } from '../parts/mark.ts';

type SetUpStep = {
  readonly title: string;
  readonly text: string | Html;
  readonly isDone: boolean;
  readonly isOptional?: true;
  /** Null while an earlier step is missing. `page`: the registered path, if `href` is another one. */
  readonly link: { readonly href: string; readonly label: string; readonly page?: string } | null;
};

/** The steps and which of them are done. */
export async function readSetUp(store: Store): Promise<readonly SetUpStep[]> {
  if (store.customerId !== null) return readCustomerSetUp(store);
  const has = await store.overview.setUp(null);
  return [
    {
      title: 'Add a customer',
      text: 'Who receives your events. An endpoint without a customer belongs to your company.',
      isDone: has.customers,
      isOptional: true,
      link: { href: '/customers/new', label: 'Add a customer' },
    },
    {
      title: 'Create an event type',
      text: 'A kind of event, such as order.created. The event types of employees are built in.',
      isDone: has.eventTypes,
      isOptional: true,
      link: { href: '/event-types/new', label: 'New event type' },
    },
    {
      title: 'Create an endpoint',
      text: 'The HTTPS address where a customer receives events, and the secret that signs requests to it.',
      isDone: has.enabledEndpoints,
      link: { href: '/endpoints/new', label: 'New endpoint' },
    },
    {
      title: 'Import a key',
      text: "The customer's PGP key. Events of employees are always encrypted.",
      isDone: has.keys,
      isOptional: true,
      link: { href: '/keys/new', label: 'Import a key' },
    },
    {
      title: 'Create a webhook and start it',
      text: 'Which events go to which endpoint.',
      isDone: has.startedWebhooks,
      link: has.webhooks
        ? { href: '/webhooks', label: 'See the webhooks' }
        : { href: '/webhooks/new', label: 'New webhook' },
    },
    {
      title: 'See the first delivery arrive',
      text: 'Send a test event, or publish one.',
      isDone: has.runningWebhooks,
      link: { href: '/webhooks', label: 'Send a test event' },
    },
    {
      title: 'Register an application',
      text: 'A program that publishes events or calls your API. It gets a client id, a secret and the scopes that you pick.',
      isDone: has.applications,
      isOptional: true,
      link: { href: '/applications/new', label: 'Register' },
    },
  ];
}

/** Among which an endpoint to verify, and a webhook to test, are sought. */
const RECORDS_READ = 20;

/** From the catalogue to the first verified delivery, in a customer's portal. */
async function readCustomerSetUp(store: Store): Promise<readonly SetUpStep[]> {
  const [has, delivered, endpoints, webhooks] = await Promise.all([
    store.overview.setUp(store.customerId),
    store.attempts.latest(1, 'delivered'),
    store.directory.endpoints({ state: 'problems' }, null, RECORDS_READ),
    store.directory.webhooks({}, null, RECORDS_READ),
  ]);
  const unverified = endpoints.find(isUnverified);
  const pushed = webhooks.map(({ webhook }) => webhook).filter(({ mode }) => mode === 'push');
  const tested = pushed.find(({ progress }) => isRunnable(progress.state)) ?? pushed[0];
  return [
    {
      title: 'Look at the event catalogue',
      text: 'The kinds of events that you can receive, each with a sample of its data.',
      isDone: has.webhooks,
      isOptional: true,
      link: { href: '/event-types', label: 'Open the catalogue' },
    },
    {
      title: 'Create an endpoint',
      text: 'The HTTPS address of your program. You get the secret with which it checks what arrives.',
      isDone: has.endpoints,
      link: { href: '/endpoints/new', label: 'New endpoint' },
    },
    {
      title: 'Verify the endpoint',
      text: html`
        Your program signs a challenge. The <a href="${GUIDE_PATH}">Guide</a> has the code. Until then nothing else is
        sent.
      `,
      isDone: has.enabledEndpoints,
      link:
        unverified === undefined
          ? null
          : {
              href: `/endpoints/${unverified.id}#challenge`,
              label: `Verify ${unverified.name}`,
              page: '/endpoints/{id}',
            },
    },
    {
      title: 'Create a webhook',
      text: 'Which events go to the endpoint.',
      isDone: has.webhooks,
      link: { href: '/webhooks/new', label: 'New webhook' },
    },
    {
      title: 'See the first delivery arrive',
      text: 'It comes with the next event that you subscribe to. A test event shows now whether your program is ready.',
      isDone: delivered.length > 0,
      link:
        tested === undefined
          ? null
          : { href: `/webhooks/${tested.id}#test-button`, label: 'Send a test event', page: '/webhooks/{id}' },
    },
  ];
}

/** Whether only optional steps are left. */
export function isSetUp(steps: readonly SetUpStep[]): boolean {
  return steps.every(({ isDone, isOptional = false }) => isDone || isOptional);
}

const WHOLE_WAY = 'From nothing to the first delivered webhook. Each step can be done later, or again.';
const ASK_ADMINISTRATOR = 'An administrator of your company does these steps. You can read all pages.';

/** The list of steps with the next one marked. Links to missing pages, or that the role may not open, are omitted. */
export function setUpChecklist(
  steps: readonly SetUpStep[],
  role: PortalRole,
  hasPage: (path: string) => boolean,
): Html {
  const next = steps.find(({ isDone, isOptional }) => !isDone && !isOptional);
  const needed = steps.filter(({ isOptional = false }) => !isOptional);
  const done = needed.filter(({ isDone }) => isDone).length;
  const progress = `${done} of ${needed.length} steps done`;
  const items = steps.map((step, at) => {
    const { title, text, isDone, isOptional, link } = step;
    const kind = isDone ? 'step-done' : step === next ? 'step-next' : 'step-open';
    const isOffered = !isDone && link !== null && hasPage(link.page ?? link.href) && mayAct(role, 'administrator');
    const kindOfButton = step === next ? 'primary' : 'plain';
    const button = isOffered ? linkButton({ href: link.href, label: link.label, kind: kindOfButton }) : null;
    return html`
      <li class="${kind}">
        <span class="step-mark" aria-hidden="true">${isDone ? icon('check') : at + 1}</span>
        <div>
          <p class="step-title">
            ${title}
            ${
              isDone
                ? html`<span class="visually-hidden"> (done)</span>`
                : isOptional
                  ? html` <span class="optional">optional</span>`
                  : null
            }
          </p>
          <p class="step-text">${text}</p>
        </div>
        ${button ?? html`<span></span>`}
      </li>
    `;
  });
  const content = html`
    <p class="quiet">${progress}</p>
    <progress class="progress" value="${done}" max="${needed.length}" aria-label="Steps done">${progress}</progress>
    <ol class="checklist">${items}</ol>
  `;
  const whole = mayAct(role, 'administrator') ? WHOLE_WAY : ASK_ADMINISTRATOR;
  const lead = isSetUp(steps) ? 'All required steps are done.' : whole;
  return section({ title: 'Set up', lead, content });
}
