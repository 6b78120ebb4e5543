/** Portal accounts (`user_account`). */
import type { LostAdministration, User } from '../access/user.ts';
import type { ResourceStore } from './resource.ts';

export type UserStore = ResourceStore<User> & {
  /** Whether an active administrator remains if this one loses so much. */
  hasOtherAdministrator(id: string, lost: LostAdministration): Promise<boolean>;
  /** Whatever the case and the form of its characters. */
  getByName(userName: string): Promise<User | null>;
  isEmpty(): Promise<boolean>;
};
