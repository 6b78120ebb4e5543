/** Look-ups of one row by its name or id. SQLite answers each at once. */
import type { Database } from '../port/database.ts';
import type { EmployeeStore } from '../port/employees.ts';
import type { EventTypeStore } from '../port/events.ts';
import { EMPLOYEE } from '../shared/employees.ts';
import { EVENT_TYPE } from '../shared/events.ts';
import { readOne } from '../shared/table.ts';

const EVENT_TYPE_BY_NAME = `SELECT ${EVENT_TYPE.columns()} FROM event_type WHERE name = @name`;
const EMPLOYEE_BY_ID = `SELECT ${EMPLOYEE.columns()} FROM employee WHERE user_id = @userId`;

export function eventTypeReads(db: Database): Pick<EventTypeStore, 'getByName'> {
  return { getByName: async (name) => readOne(EVENT_TYPE, await db.get(EVENT_TYPE_BY_NAME, { name })) };
}

export function employeeReads(db: Database): Pick<EmployeeStore, 'get'> {
  return { get: async (userId) => readOne(EMPLOYEE, await db.get(EMPLOYEE_BY_ID, { userId })) };
}
