/** Employees on SQLite (`employee`): each look-up on its own. */
import type { EmployeeStore } from '../port/employees.ts';
import { EMPLOYEE } from '../shared/employees.ts';
import { readOne } from '../shared/table.ts';
import type { SqliteDatabase } from './driver/sqlite.ts';

const EMPLOYEE_BY_ID = `SELECT ${EMPLOYEE.columns()} FROM employee WHERE user_id = @userId`;

export function employeeReads(db: SqliteDatabase): Pick<EmployeeStore, 'get'> {
  return { get: (userId) => readOne(EMPLOYEE, db.get(EMPLOYEE_BY_ID, { userId })) };
}
