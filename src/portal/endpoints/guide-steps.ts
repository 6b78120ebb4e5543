/** The way from nothing to the first event, as the steps at the beginning of the guide, and where its links lead. */
import { type Endpoint, isUnverified } from '../../domain/endpoint.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import type { PageCall } from '../frame/call.ts';
import { API_REFERENCE_PATH } from '../parts/api-calls.ts';
import { section } from '../parts/header.ts';
import { newWebhookOf } from './endpoint-detail.ts';
import type { GuideLink } from './guide-text.ts';

type GuideLinks = Readonly<Record<GuideLink, string>>;

/** `webhooks`: that send to the endpoint. Without an endpoint the links lead to the lists. */
export function guideLinks({ may }: PageCall, endpoint: Endpoint | null, webhooks: readonly Webhook[]): GuideLinks {
  const [webhook] = webhooks;
  const page = endpoint === null ? '/endpoints' : `/endpoints/${endpoint.id}`;
  const isOnSettings = endpoint !== null && !isUnverified(endpoint);
  return {
    credentials: endpoint === null ? page : `${page}/settings#credentials`,
    verify: endpoint === null ? page : `${page}${isOnSettings ? '/settings' : ''}#challenge`,
    webhooks: webhook !== undefined && webhooks.length === 1 ? `/webhooks/${webhook.id}` : '/webhooks',
    test: webhook === undefined ? '/webhooks' : `/webhooks/${webhook.id}#samples`,
    live: '/deliveries/watch',
    deliveries: '/deliveries',
    reference: API_REFERENCE_PATH,
    register: may('administrator') ? '/applications/new' : '/applications',
    applications: '/applications',
  };
}

/** For someone who starts: in the order in which each step needs the one before. */
export function stepsSection(call: PageCall, endpoint: Endpoint | null, links: GuideLinks): Html {
  // A viewer reads the steps, and an administrator takes them.
  const link = (href: string, label: string): Html =>
    call.may('administrator') ? html`<a href="${href}">${label}</a>` : html`<strong>${label}</strong>`;
  const newWebhook = endpoint === null ? '/webhooks/new' : newWebhookOf(endpoint);
  return section({
    title: 'From zero to the first event',
    id: 'steps',
    content: html`
      <div class="prose"><ol>
        <li>
          ${link('/endpoints/new', 'Create an endpoint')} with the HTTPS address that your program will have, and copy its
          secret. For a trial on your computer, start a tunnel first (step 3).
        </li>
        <li><a href="#programs">Download a program</a>, give it the secret and the API key, and start it.</li>
        <li><a href="#make-it-reachable-over-https">Make it reachable over HTTPS</a> at the address of the endpoint.</li>
        <li><a href="${links.verify}">Verify ownership</a> with “Verify now”. The program responds to the challenge.</li>
        <li>${link(newWebhook, 'Create a webhook')}, unless you chose events with the endpoint.</li>
        <li><a href="${links.test}">Send a test event</a>. Your program prints it.</li>
      </ol></div>
    `,
  });
}
