/** The description of the API for the developers of customers: what their applications may call, in words for them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BUILT_IN_PRODUCTS, CUSTOMER_SCOPES } from '../../src/access/built-in.ts';
import {
  createCustomersApi,
  IN_CUSTOMERS_WORDS,
  OPERATORS_MEMBERS,
  routesOfCustomers,
} from '../../src/http/customers-api.ts';
import { openApiDocument } from '../../src/http/openapi.ts';
import { OPERATORS_WORDS } from '../support/operators-words.ts';
import { routesWithoutPages } from '../support/portal-pages.ts';

const routes = routesWithoutPages();
const document = createCustomersApi(() => routes)('https://edge.example/');
type Components = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
const text = JSON.stringify(document);

describe('the API of customers', () => {
  it('has no operation that only the operator may call', () => {
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    const ids = operations.map(({ operationId }) => operationId);
    for (const { for: whom, operationId } of routes)
      if (whom === 'operator' && operationId !== undefined) assert.ok(!ids.includes(operationId), operationId);
    for (const id of ['listWebhooks', 'publishEvents', 'listDeliveries', 'issueToken']) assert.ok(ids.includes(id), id);
    for (const id of [
      'listCustomers',
      'createEventType',
      'introspectToken',
      'eraseEvents',
      'getMetrics',
      'forwardAuth',
    ])
      assert.ok(!ids.includes(id), id);
    const scopes = operations.flatMap(({ security = [] }) => security.flatMap((one) => Object.values(one).flat()));
    assert.deepEqual([...new Set(scopes)].sort(), [...CUSTOMER_SCOPES].sort());
  });

  it('leaves out a guarded operation whose scope no customer may have', () => {
    const [route] = routes.filter(({ operationId }) => operationId === 'eraseEvents');
    assert.ok(route !== undefined);
    assert.deepEqual(routesOfCustomers([{ ...route, for: 'both' }]), []);
  });

  it('has no word and no field of the operator', () => {
    // The name of a role, and of an actor in the audit log.
    const told = text.replaceAll(/"operator"|`operator`/g, '');
    for (const words of [/customer|operator|Sallyport|employee|division/gi, new RegExp(OPERATORS_WORDS, 'g')])
      assert.deepEqual(
        [...told.matchAll(words)].map(({ index }) => told.slice(index - 60, index + 40)),
        [],
      );
    for (const name of OPERATORS_MEMBERS) assert.ok(!text.includes(`"${name}"`), name);
  });

  it('rewords only what the whole document has', () => {
    const whole = JSON.stringify(
      openApiDocument({ routes: routes.slice(), publicUrl: '', products: BUILT_IN_PRODUCTS }),
    );
    for (const [said] of IN_CUSTOMERS_WORDS) assert.ok(whole.includes(said), said);
    for (const name of OPERATORS_MEMBERS) assert.ok(whole.includes(`"${name}"`), name);
  });

  it('has a component for every reference, and the address of the service', () => {
    for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/(\w+)"/g))
      assert.ok(name in ((document.components as Components)[kind] ?? {}), `${kind} ${name}`);
    assert.match(text, /"servers":\[\{"url":"https:\/\/edge.example"\}\]/);
  });
});
