/** Employees on SQLite (`employee`): each look-up on its own. */
import type { Database } from '../port/database.ts';
import type { EmployeeStore } from '../port/employees.ts';
import { EMPLOYEE } from '../shared/employees.ts';
import { readOne } from '../shared/table.ts';

const EMPLOYEE_BY_ID = `SELECT ${EMPLOYEE.columns()} FROM employee WHERE user_id = @userId`;

export function employeeReads(db: Database): Pick<EmployeeStore, 'get'> {
  return { get: async (userId) => readOne(EMPLOYEE, await db.get(EMPLOYEE_BY_ID, { userId })) };
}
