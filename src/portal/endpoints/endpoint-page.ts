/** `/endpoints/{id}`: one endpoint, live, in three tabs: its state with its activity, its settings, and its history; and its actions. */
import type { OauthTest } from '../../delivery/oauth.ts';
import { type Endpoint, isUnverified, mustBeVerified } from '../../domain/endpoint.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { NO_USES, type Uses } from '../../store/port/directory.ts';
import { viewEndpoint } from '../../webhooks/endpoint-schema.ts';
import { historySection, readChanges } from '../audit/record-changes.ts';
import { latestVersion } from '../deliveries/latest-deliveries.ts';
import { attempted, type PageCall, pathId, redirectTo, type View } from '../frame/call.ts';
import { liveContent } from '../frame/live-content.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { ownedName, readIsOwn, readOwner } from '../record/owner.ts';
import { RECORD_TABS, type RecordTab, streamOfTab, tabOfStream, tabPath } from '../record/record-tabs.ts';
import { readEndpointActivity, withOutages } from './endpoint-activity.ts';
import { type EndpointPage, endpointActivity, endpointHeader } from './endpoint-detail.ts';
import { readHub } from './endpoint-hub.ts';
import { endpointSettingsTab } from './endpoint-settings.ts';
import { oauthSection } from './oauth-section.ts';

const PATH = '/endpoints';

/** One endpoint, live, in three tabs. */
export function endpointPage(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, clock, feed } = dependencies;
  const { endpoints } = services;
  const tabPage = (tab: RecordTab): PageRoute<'both'> =>
    pages.view(tabPath(`${PATH}/{id}`, tab), 'both', async (call) => {
      const endpoint = await endpoints.get(pathId(call));
      const { view } = await readPage(dependencies, call, endpoint, tab);
      const live = attributes({
        'data-hx-sse:connect': streamOfTab(`${PATH}/${endpoint.id}`, tab, call.query),
        'data-hx-swap': 'innerMorph',
      });
      return { ...view, content: html`<div id="endpoint" class="page-part"${live}>${view.content}</div>` };
    });
  return [
    ...RECORD_TABS.map(tabPage),
    pages.stream('/endpoints/{id}/live', 'both', async (call) => {
      const { id } = await endpoints.get(pathId(call));
      const tab = tabOfStream(call.query);
      return liveContent(feed, null, call.signal, async () => {
        const { version, view } = await readPage(dependencies, { ...call, now: clock() }, await endpoints.get(id), tab);
        return { version, content: () => view.content };
      });
    }),
  ];
}

export function endpointActions(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, testOauth } = dependencies;
  const { endpoints } = services;
  const enabling = (verb: 'enable' | 'disable'): PageRoute<'both'> =>
    pages.act(`/endpoints/{id}/${verb}`, 'both', 'administrator', async (call) => {
      const path = `/endpoints/${pathId(call)}`;
      const done = verb === 'enable' ? 'The endpoint is enabled.' : 'The endpoint is disabled: nothing is sent here.';
      return attempted(path, done, () => endpoints.patch(pathId(call), { enabled: verb === 'enable' }, call.acting));
    });
  return [
    pages.act('/endpoints/{id}/verify', 'both', 'operator', async (call) => {
      const endpoint = await endpoints.verify(pathId(call), call.acting);
      const uses = await usesOf(dependencies, endpoint.id);
      const waits = endpoint.enabled && (uses ?? NO_USES).first.some(({ state }) => !isRunnable(state));
      // A success is told on the page, and the section with the challenge moves to the settings.
      const isAhead = endpoint.verified && mustBeVerified(endpoint);
      const place = isAhead ? '' : `${isUnverified(endpoint) ? '' : '/settings'}#challenge`;
      return { ...redirectTo(`${PATH}/${endpoint.id}${place}`), flash: verdictOf(endpoint, waits) };
    }),
    pages.act('/endpoints/{id}/test-oauth', 'both', 'operator', async (call) => {
      const result = await testOauth(pathId(call));
      const endpoint = await endpoints.get(pathId(call));
      const { view } = await readPage(dependencies, call, endpoint, 'settings', result);
      return { ...view, partial: oauthSection(call, endpoint, result) ?? html`` };
    }),
    enabling('enable'),
    enabling('disable'),
  ];
}

export async function usesOf({ store }: SharedPageDependencies, id: string): Promise<Uses | null> {
  return (await store.uses.ofEndpoints([id])).get(id) ?? null;
}

/** A tab of the page of an endpoint. `tested` is the result of an OAuth test just made. */
async function readPage(
  dependencies: SharedPageDependencies,
  call: PageCall,
  endpoint: Endpoint,
  tab: RecordTab,
  tested: OauthTest | null = null,
): Promise<{ readonly version: string; readonly view: View }> {
  const { id, name } = endpoint;
  const [uses, activityOf, owner, isOwn] = await Promise.all([
    usesOf(dependencies, id),
    readEndpointActivity(dependencies, [id]),
    readOwner(dependencies.store, endpoint),
    readIsOwn(dependencies.store, endpoint),
  ]);
  const activity = await withOutages(dependencies.store, activityOf(id));
  const page: EndpointPage = { endpoint, owner, isOwn, uses, activity, tab };
  const part = await readTab(dependencies, call, page, tested);
  const shown = [viewEndpoint(endpoint, call.now), endpoint.lastVerification, uses, page.activity, owner, part.version];
  const content = html`${endpointHeader(call, page)}${part.content}`;
  return {
    version: JSON.stringify(shown),
    view: { title: ownedName(name, owner), content, hasCharts: tab === 'activity' },
  };
}

async function readTab(
  dependencies: SharedPageDependencies,
  call: PageCall,
  page: EndpointPage,
  tested: OauthTest | null,
): Promise<{ readonly version: unknown; readonly content: Html }> {
  const { endpoint, tab, activity } = page;
  if (tab === 'settings')
    return { version: null, content: endpointSettingsTab(call, endpoint, { uses: page.uses, tested }) };
  if (tab === 'history') {
    const target = `endpoint:${endpoint.id}`;
    const changes = await readChanges(dependencies, call.brand, target);
    // Only people and verifications change the state of an endpoint, so the audit log has all of it.
    const lead = 'Changes, verifications and new credentials, newest first.';
    const content = historySection({ target, createdAt: endpoint.createdAt, lead, changes }, call.now);
    return { version: changes.entries, content };
  }
  const hub = await readHub(dependencies, call, endpoint.id, activity);
  const version =
    hub === null ? null : [hub.series, latestVersion(hub.deliveries, call.now), hub.listings, hub.dead, hub.causes];
  return { version, content: endpointActivity(call, page, hub) };
}

/** `waits`: a webhook that sends here is to be started. */
function verdictOf({ name, lastVerification, enabled }: Endpoint, waits: boolean) {
  const error = lastVerification?.error ?? null;
  if (error !== null) return { tone: 'negative', text: `${name} failed the challenge. See why below.` } as const;
  const next = waits ? ' Start its webhook below.' : '';
  return { tone: 'positive', text: `${name} passed the challenge${enabled ? ' and is enabled' : ''}.${next}` } as const;
}
