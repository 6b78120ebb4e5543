/** Registered applications (`application`). */
import type { Application, Client, ScopeHolder } from '../access/application.ts';
import type { ResourceStore } from './resource.ts';

export type ApplicationStore = ResourceStore<Application> & {
  getClient(clientId: string): Promise<Client | null>;
  /** The first few applications bound to a user, to name those that keep it from being deleted. */
  ofUser(userId: string): Promise<Application[]>;
  /** The first few applications that hold any of these scopes. */
  holding(scopes: readonly string[]): Promise<Application[]>;
  /** Every application that holds a scope, a page at a time: up to `limit` whose id comes after `after`. */
  holders(
    needed: { readonly scope: string; readonly permission: string },
    after: string,
    limit: number,
  ): Promise<ScopeHolder[]>;
};
