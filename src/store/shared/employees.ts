/** Employees (`employee`): each change is one transaction with its event. */

import type { Employee } from '../../domain/employee.ts';
import type { Database } from '../port/database.ts';
import type { EmployeeStore } from '../port/employees.ts';
import type { Filter } from '../port/resource.ts';
import { publishStatements } from './events.ts';
import { judgedEvent } from './judging.ts';
import { filtered } from './resource.ts';
import { flag, number, table, text, textOrNull } from './table.ts';

export const EMPLOYEE = table<Employee>('employee', 'userId', {
  userId: text,
  externalId: textOrNull,
  userName: text,
  firstName: text,
  lastName: text,
  email: text,
  division: text,
  managerId: textOrNull,
  hireDate: textOrNull,
  active: flag,
  createdAt: number,
  updatedAt: number,
});

// Indexes: the primary key, the unique ones on user_name and external_id, or employee_division with a range for each division.
const CONDITIONS = {
  divisions: 'division IN (SELECT wanted.value FROM texts(@divisions) AS wanted)',
  userName: 'user_name = @userName',
  externalId: 'external_id = @externalId',
};
const list = (filter: Filter): string => `
  SELECT ${EMPLOYEE.columns()} FROM employee
  WHERE user_id > @after${filtered(CONDITIONS, filter)} ORDER BY user_id LIMIT @limit`;
const UNCHANGED = 'UPDATE employee SET updated_at = updated_at WHERE user_id = @userId AND updated_at = @updatedAt';

export function employeeStore(db: Database): Omit<EmployeeStore, 'get'> {
  return {
    list: async ({ divisions, after, limit, filter = {} }) => {
      const all = { ...filter, ...(divisions !== null && { divisions: JSON.stringify(divisions) }) };
      return (await db.all(list(all), { ...all, after, limit })).map(EMPLOYEE.read);
    },
    insert: async (employee, event, first = []) => {
      const published = publishStatements(await judgedEvent(db, event));
      await db.commit([...first, EMPLOYEE.insert(employee), ...published]);
    },
    update: async (employee, before, event) => {
      const { userId, updatedAt } = before;
      const published = publishStatements(await judgedEvent(db, event));
      const unchanged = { sql: UNCHANGED, params: { userId, updatedAt }, expectChanges: 1 };
      await db.commit([unchanged, EMPLOYEE.update(employee), ...published]);
    },
  };
}
