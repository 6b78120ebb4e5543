/** Applications and users as people browse them: newest first, filtered, each with what a list shows beside it. Reads only. */
import type { Application } from '../access/application.ts';
import type { Role, User } from '../access/user.ts';

/** All that are given have to fit; `text` is looked for in names and client ids, without regard to case (ASCII). */
export type ApplicationFilter = { readonly text?: string; readonly userId?: string; readonly scope?: string };

export type UserFilter = { readonly text?: string; readonly role?: Role; readonly state?: 'active' };

export type ApplicationListing = {
  readonly application: Application;
  readonly userName: string;
  readonly userActive: boolean;
};

export type UserListing = { readonly user: User; readonly applications: number };

export type RegistryStore = {
  /** `before` is the id of the last one of the page before; null begins with the newest. */
  applications(filter: ApplicationFilter, before: string | null, limit: number): Promise<ApplicationListing[]>;
  users(filter: UserFilter, before: string | null, limit: number): Promise<UserListing[]>;
};
