import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ApiDocument } from '../../support/openapi-document.ts';
import { startDescribedService } from '../../support/openapi-service.ts';

const PATH = '/services/api/openapi.json';

it('the document is for everyone, and may be kept for a while', async (t) => {
  const { admin } = await startDescribedService(t);
  const { status, headers, body } = await admin.as(null).get<ApiDocument>(PATH);
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'application/json;charset=UTF-8');
  assert.equal(headers.get('cache-control'), 'public, max-age=300');
  assert.match(headers.get('etag') ?? '', /^"[A-Za-z0-9_-]{43}"$/);
  assert.match(body.openapi, /^3\.1\./);
});

it('a copy that is still the document is not sent again', async (t) => {
  const { admin } = await startDescribedService(t);
  const first = await admin.get(PATH);
  const etag = first.headers.get('etag') ?? '';
  for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const { status, headers, body } = await admin.get(PATH, { 'If-None-Match': tags });
    assert.equal(status, 304, tags);
    assert.equal(headers.get('etag'), etag);
    assert.equal(headers.get('cache-control'), 'public, max-age=300');
    assert.equal(headers.get('content-length'), first.headers.get('content-length'));
    assert.equal(body, undefined);
  }
  for (const tags of ['"other"', etag.slice(1, -1), `${etag.slice(0, -1)}x"`]) {
    assert.equal((await admin.get(PATH, { 'If-None-Match': tags })).status, 200, tags);
  }
});

it('HEAD says the same without the document', async (t) => {
  const { admin } = await startDescribedService(t);
  const { headers } = await admin.get(PATH);
  const head = await admin.send('HEAD', PATH);
  assert.equal(head.status, 200);
  assert.equal(head.headers.get('etag'), headers.get('etag'));
  assert.equal(head.headers.get('content-length'), headers.get('content-length'));
  assert.equal(head.body, undefined);
});

it('the document follows the public address, and so does its tag', async (t) => {
  const { admin, url, publicUrl } = await startDescribedService(t);
  const before = await admin.get<ApiDocument>(PATH);
  assert.deepEqual(before.body.servers, [{ url }]);
  publicUrl.value = 'https://edge.company.example/';
  const after = await admin.get<ApiDocument>(PATH);
  assert.deepEqual(after.body.servers, [{ url: 'https://edge.company.example' }]);
  assert.notEqual(after.headers.get('etag'), before.headers.get('etag'));
});

it('nothing else is taken: no query, no other method', async (t) => {
  const { admin } = await startDescribedService(t);
  assert.equal((await admin.get(`${PATH}?pretty=1`)).status, 400);
  const { status, headers } = await admin.post(PATH, {});
  assert.equal(status, 405);
  assert.equal(headers.get('allow'), 'GET, HEAD');
});
