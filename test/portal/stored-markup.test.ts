/** Markup in every field that takes text: it is shown as text on every page, wherever it comes from. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HOSTILE, isMarkup, RAW, startHostilePortal, walkLinks } from '../support/hostile-portal.ts';
import { portalPages } from '../support/portal-pages.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { seededPath } from '../support/portal-seed.ts';
import { startService } from '../support/service.ts';

const pages = portalPages();

describe('markup in every field', () => {
  it('is text on every page, and on every page that links lead to', async (t) => {
    const { portal, paths } = await startHostilePortal(t);
    const { token } = await newSession(portal.service, 'administrator');
    // A few of each kind of page will do.
    const visited = await walkLinks(paths, 3, (path) => linksIn(portal.url, path, token));
    assert.ok(visited > paths.length, 'links lead on');
  });

  it('comes back as text from every query and every form', async (t) => {
    const service = await startService(t);
    for (const { method, path, role } of pages) {
      const { token } = await newSession(service, role ?? 'administrator');
      const target =
        service.url + (seededPath(path, {}) ?? path.replace(/\{\w+\}/g, encodeURIComponent('<script>hacked')));
      if (method === 'GET') {
        const query = new URLSearchParams(QUERY.map((name): [string, string] => [name, HOSTILE]));
        const reply = await request(`${target}?${query}`, { token });
        assert.ok(reply.status < 500, path);
        assert.doesNotMatch(reply.text, RAW, path);
      } else {
        const form = await request(target, { token });
        const names = [...form.text.matchAll(/ name="(?!formToken)([^"]+)"/g)].map(([, name]) => name ?? '');
        const fields = Object.fromEntries(
          [...names, 'name', 'response', 'userName', 'back', 'next'].map((name) => [name, HOSTILE]),
        );
        const reply = await request(target, { token, form: fields });
        assert.ok(reply.status < 500, `${path}: ${reply.status}`);
        assert.doesNotMatch(reply.text, RAW, path);
        assert.doesNotMatch(reply.headers.get('location') ?? '', /[<>"\\]|^\/\/|^[^/]/, path);
      }
    }
  });
});

async function linksIn(url: string, path: string, token: string): Promise<string[]> {
  const { status, headers, text } = await request(url + path, { token });
  assert.ok(status < 500, path);
  if (!isMarkup(headers.get('content-type'))) return [];
  assert.doesNotMatch(text, RAW, path);
  return [...text.matchAll(/<a [^>]*\bhref="([^"]*)"/g)].map(([, link = '']) => link.replaceAll('&amp;', '&'));
}

const QUERY = [
  'cursor',
  'limit',
  'actor',
  'action',
  'target',
  'since',
  'until',
  'next',
  'state',
  'states',
  'webhookId',
  'webhook',
  'eventType',
  'period',
  'method',
  'path',
  'endpointId',
  'endpoint',
  'q',
  'name',
  'type',
  'role',
  'tab',
];
