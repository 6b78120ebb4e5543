/** Applications and users as people browse them: newest first, filtered, each with what a list shows beside it. Reads only. */

import type { RegistryStore } from '../../directory.ts';
import { conditions } from '../delivery/conditions.ts';
import type { Database } from '../driver/database.ts';
import type { ApplicationTable } from './applications.ts';
import { USER } from './users.ts';

// Applications and users are few, thousands at most: a filter goes through them.
const APPLICATION_CONDITIONS: Readonly<Record<string, string>> = {
  text: '(instr(lower(a.name), lower(@text)) > 0 OR instr(lower(a.client_id), lower(@text)) > 0)',
  userId: 'a.user_id = @userId',
  scope: 'EXISTS (SELECT 1 FROM json_each(a.scopes) AS held WHERE held.value = @scope)',
  before: 'a.id < @before',
};
const USER_CONDITIONS: Readonly<Record<string, string>> = {
  text: '(instr(lower(u.user_name), lower(@text)) > 0 OR instr(lower(u.display_name), lower(@text)) > 0)',
  role: 'u.role = @role',
  state: "u.active = (@state = 'active')",
  before: 'u.id < @before',
};
const applicationsSql = (application: ApplicationTable): string => `
  SELECT ${application.columns('a')}, u.user_name AS account_name, u.active AS account_active
  FROM application AS a JOIN user_account AS u ON u.id = a.user_id`;
// The count is served by application_user.
const USERS = `
  SELECT ${USER.columns('u')}, (SELECT count(*) FROM application AS a WHERE a.user_id = u.id) AS applications
  FROM user_account AS u`;

export function registryStore(db: Database, application: ApplicationTable): RegistryStore {
  const listed = applicationsSql(application);
  return {
    applications: async (filter, before, limit) => {
      const { where, params } = conditions(APPLICATION_CONDITIONS, filter, before);
      const rows = await db.all(`${listed} ${where} ORDER BY a.id DESC LIMIT @limit`, { ...params, limit });
      return rows.map((row) => ({
        application: application.read(row),
        userName: String(row.account_name),
        userActive: row.account_active === 1,
      }));
    },
    users: async (filter, before, limit) => {
      const { where, params } = conditions(USER_CONDITIONS, filter, before);
      const rows = await db.all(`${USERS} ${where} ORDER BY u.id DESC LIMIT @limit`, { ...params, limit });
      return rows.map((row) => ({ user: USER.read(row), applications: Number(row.applications) }));
    },
  };
}
