/** Streams of live pages that are asked for something unknown. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

describe('the stream of a live page', () => {
  it('is refused for an unknown webhook before it begins, and is no error of the service', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'viewer');
    const unknown = '01980000-0000-7000-8000-000000000000';
    for (const path of [
      ...['/deliveries/changes', '/deliveries/failures/changes', '/deliveries/live'].map(
        (one) => `${one}?webhook=${unknown}`,
      ),
      `/webhooks/${unknown}/live`,
      `/endpoints/${unknown}/live`,
      `/deliveries/${unknown}/live`,
    ]) {
      const { status, headers } = await request(`${service.url}${path}`, { token });
      assert.equal(status, 404, path);
      // Not a page: only scripts read it, and a customer may ask often.
      assert.match(headers.get('content-type') ?? '', /^text\/plain/, path);
    }
    assert.equal(
      service.log
        .text()
        .split('\n')
        .some((line) => line.includes('"level":50') || line.includes('"level":"error"')),
      false,
    );
  });
});
