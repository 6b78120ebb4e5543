/** The markup of every page of both portals, of the pages without a session, and of forms that are refused. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { receiverPackage } from '../../src/kernel/assets.ts';
import { guardFolder } from '../support/guards.ts';
import { pageOf, withoutChance } from '../support/markup.ts';
import { type History, type Ids, startHistory } from '../support/portal-history.ts';
import { portalPages } from '../support/portal-pages.ts';
import { type PortalReply, request } from '../support/portal-requests.ts';

type Portal = 'operator' | 'customer' | 'nobody';

/** Values of path parameters by the first segment of the path. Pages whose parameter is no id of the history have lines here. */
const PARAMETERS: Readonly<Record<string, string>> = {
  '/event-catalogue/{name}': '/event-catalogue/order.placed',
  '/docs/{page*}': '/docs/how-to/rotate-secrets.md',
  '/account/passkeys/{id}/remove': '/account/passkeys/none/remove',
  '/results/{id}': '/results/none',
  '/downloads/{file}': '/downloads/receiver.py',
  '/portal-links/{token}': '/portal-links/none',
  // The oldest entries are those of the first start.
  '/audit': '/audit?limit=10',
};

/** The same pages with parameters, or of other resources. `{name}` is a special resource of the history. */
const MORE: readonly string[] = [
  '/deliveries?state=dead',
  '/deliveries?q=none',
  '/deliveries/failures?period=day',
  '/search?q=acme',
  '/search?q=webhook&dialog=1',
  '/docs/search?q=token',
  '/audit?action=webhook.create',
  '/tester?method=GET&path=%2Fshop%2Forders%2F1',
  '/webhooks/new?mode=pull',
  '/publish?type=order.placed',
  '/users/suggestions?q=u',
  '/customers/suggestions?q=a',
  '/endpoints/{unverified}',
  '/endpoints/{oauth}',
  '/endpoints/{oauth}/settings',
  '/endpoints/{oauth}/edit',
  '/webhooks/{pull}',
  '/webhooks/{pull}/settings',
  '/webhooks/{encrypted}',
  '/webhooks/{encrypted}/settings',
  '/webhooks/{encrypted}/edit',
  '/nothing',
];

/** Forms that are refused, and change nothing. */
const REFUSED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/endpoints/new': { name: '', url: 'http://plain.example' },
  '/endpoints/{id}/edit': { name: '', url: '' },
  '/webhooks/new': { name: '', mode: 'push' },
  '/webhooks/{id}/edit': { name: '', eventTypes: 'nothing' },
  '/keys/new': { name: '', publicKey: 'no key' },
  '/applications/new': { name: '', actsAs: 'new', accountName: '' },
  '/applications/{id}/edit': { name: '' },
  '/users/new': { userName: '' },
  '/users/{id}/edit': { userName: '', role: 'none' },
  '/customers/new': { name: '' },
  '/customers/{id}/edit': { name: '' },
  '/event-types/new': { name: 'no dot' },
  '/products/new': { name: '' },
  '/publish': { type: 'none', data: '{' },
  '/deliveries/replay': {},
  '/deliveries/{id}/replay': { formToken: 'another' },
  '/account/password': { currentPassword: '', password: 'short', passwordAgain: 'other' },
  '/settings/customers-portal': { accent: 'none' },
};

const gets = portalPages().filter(({ method }) => method === 'GET');

it('every page has the same markup', async (t) => {
  assert.equal(
    receiverPackage(),
    null,
    'the recorded pages are those of a checkout without the receiver package: remove dist/',
  );
  // Every attempt takes as long as any other.
  t.mock.method(performance, 'now', () => 0);
  const history = await startHistory(t);
  const { service, sessions, ids, special, invitation } = history;
  const files = new Map<string, string>();
  const frames = new Map<string, string>();
  /** The file with each content, which others only name. */
  const mains = new Map<string, string>();
  const missing: string[] = [];
  const keep = (portal: Portal, method: string, path: string, reply: PortalReply): void => {
    const type = reply.headers.get('content-type')?.replace(/;.*/, '') ?? 'none';
    // A customer has no such page: the answer is the same for all of them.
    if (portal === 'customer' && reply.status === 404 && path !== '/nothing') return void missing.push(path);
    const head = [`${method} ${path}`, `${reply.status} ${reply.headers.get('location') ?? type}`];
    const { main, frame, title, current } = pageOf(withoutChance(shown(reply.text)), type);
    if (frame !== null) {
      const known = [...frames.values()].filter((name) => name.startsWith(`frame.${portal}.`)).length;
      const name = frames.get(frame) ?? `frame.${portal}.${known + 1}.html`;
      frames.set(frame, name);
      files.set(name, frame);
      head.push(`in ${name}, as ${title}${current === null ? '' : `, at ${current}`}`);
    }
    const name = `${portal}.${fileName(method, path)}.html`;
    assert.ok(!files.has(name), name);
    const first = mains.get(main) ?? name;
    mains.set(main, first);
    if (first !== name) head.push(`with the content of ${first}`);
    const lines = withoutChance(head.map((line) => `<!-- ${line} -->\n`).join(''));
    files.set(name, first === name ? lines + main : lines);
  };
  const visit = async (portal: Portal, path: string, target: string): Promise<void> =>
    keep(portal, 'GET', path, await request(service.url + target, { token: tokenOf(history, portal) }));

  for (const portal of ['operator', 'customer'] as const) {
    for (const { path } of gets) await visit(portal, path, targetOf(path, ids[portal]));
    for (const path of MORE) {
      if (portal === 'operator' || !path.includes('{'))
        await visit(
          portal,
          path,
          path.replace(/\{(\w+)\}/, (_, name: string) => special[name] ?? assert.fail(name)),
        );
    }
  }
  for (const [path, target] of [
    ['/sign-in', '/sign-in'],
    ['/sign-in/{customerId}', `/sign-in/${ids.operator.customers}`],
    ['/session-ended', '/session-ended'],
    ['/webhooks', '/webhooks'],
    ['/nothing', '/nothing'],
    ['/event-catalogue', '/event-catalogue'],
    ['/portal-links/{token}', '/portal-links/none'],
    ['/invitations/{token}', `/invitations/${invitation}`],
    ['/invitations/none', '/invitations/none'],
  ] as const)
    await visit('nobody', path, target);
  keep('customer', 'GET', '/ through a link', await request(service.url, { token: sessions.link }));
  keep('customer', 'GET', '/account through a link', await request(`${service.url}/account`, { token: sessions.link }));
  for (const [path, form] of Object.entries(REFUSED)) {
    const target = service.url + targetOf(path, ids.operator);
    const reply = await request(target, { token: sessions.operator, form });
    assert.ok(reply.status >= 400 && reply.status < 500, `${path}: ${reply.status}`);
    keep('operator', 'POST', path, reply);
  }
  files.set('customer.missing.txt', `${missing.sort().join('\n')}\n`);
  guardFolder('pages', files);
});

/** The path of a page with an id of the history. */
function targetOf(path: string, ids: Ids): string {
  const known = PARAMETERS[path];
  if (known !== undefined) return known;
  if (path === '/sign-in/{customerId}') return `/sign-in/${ids.customers ?? 'none'}`;
  const [, kind = ''] = path.split('/');
  const id = ids[kind];
  if (!path.includes('{')) return path;
  assert.ok(id !== undefined || /^\/(customers|products)\//.test(path), `say in PARAMETERS what fills ${path}`);
  return path.replace('{id}', id ?? 'none');
}

function tokenOf({ sessions }: History, portal: Portal): string | undefined {
  return portal === 'nobody' ? undefined : sessions[portal];
}

function fileName(method: string, path: string): string {
  const name =
    path
      .replace(/^\//, '')
      .replaceAll(/[^\w{}-]+/g, '.')
      .replace(/^\.|\.$/g, '') || 'overview';
  return method === 'GET' ? name : `${name}.refused`;
}

/** Values that depend on the machine and the process. */
function shown(text: string): string {
  return text
    .replace(/(<dt>(?:Node\.js|SQLite|Uptime|Memory|Database)<\/dt><dd[^>]*>)[\s\S]*?(<\/dd>)/g, '$1{n}$2')
    .replaceAll(/\/[\w/.-]*\/(?:sallyport|store)-[\w-]+\/(?:data\b)?/g, '{folder}/');
}
