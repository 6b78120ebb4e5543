/** Employees on PostgreSQL (`employee`): one query for all look-ups that come together. */
import type { Employee } from '../../domain/employee.ts';
import type { Database } from '../port/database.ts';
import type { EmployeeStore } from '../port/employees.ts';
import { EMPLOYEE } from '../shared/employees.ts';
import { rowsOf } from './arrays.ts';
import { batched, READS } from './batched.ts';

const WANTED = rowsOf<{ readonly userId: string }>('wanted', { userId: 'TEXT' });
const GET = `SELECT ${EMPLOYEE.columns()} FROM employee WHERE user_id IN (SELECT user_id FROM ${WANTED.from})`;

export function employeeReads(db: Database): Pick<EmployeeStore, 'get'> {
  return {
    get: batched<string, Employee | null>(async (userIds) => {
      const rows = await db.all(GET, WANTED.parameters([...new Set(userIds)].map((userId) => ({ userId }))));
      const found = new Map(rows.map((row) => [String(row.user_id), EMPLOYEE.read(row)]));
      return userIds.map((userId) => found.get(userId) ?? null);
    }, READS),
  };
}
