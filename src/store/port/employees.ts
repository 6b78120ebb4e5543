/** Employees (`employee`): each change is one transaction with its event. */
import type { Employee } from '../../domain/employee.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Answer, Statement } from './database.ts';
import type { Filter } from './resource.ts';

export type EmployeeStore = {
  get(userId: string): Answer<Employee | null>;
  /** In order of creation. `divisions` null: all divisions. */
  list(page: {
    divisions: readonly string[] | null;
    after: string;
    limit: number;
    filter?: Filter;
  }): Promise<Employee[]>;
  /** `first` is written before it in the same transaction. */
  insert(employee: Employee, event: NewEvent, first?: readonly Statement[]): Promise<void>;
  /** Throws `StaleWrite` if the row has changed since `before` was read. */
  update(employee: Employee, before: Employee, event: NewEvent): Promise<void>;
};
