/** One rule by path says which item of the navigation is marked, on every page of both portals. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CUSTOMER_NAVIGATION } from '../../src/portal/customer-frame/customer-layout.ts';
import { navigationOf, sectionOf } from '../../src/portal/frame/navigation.ts';
import type { PageRoute } from '../../src/portal/frame/page.ts';
import { customersPages, portalPages } from '../support/portal-pages.ts';

/** Pages of the visitor, or of the whole portal, and downloads. A result has the section of its form. */
const WITHOUT =
  /^\/(account|search|results|downloads|missing|overview|sign-in|session-ended|portal-links)(\/|$)|\.csv$/;

it('every page below a section marks it', () => {
  const pathsOf = (pages: readonly PageRoute[]): string[] =>
    pages.filter(({ method, isBackground }) => method === 'GET' && !isBackground).map(({ path }) => path);
  const operators = pathsOf(portalPages());
  const portals = [
    [operators, navigationOf((path) => operators.includes(path))],
    [pathsOf(customersPages()), CUSTOMER_NAVIGATION],
  ] as const;
  for (const [paths, groups] of portals) {
    const items = groups.flatMap((group) => group.items);
    assert.deepEqual(
      paths.filter((path) => sectionOf(items, path) === null && !WITHOUT.test(path)),
      [],
    );
  }
});
