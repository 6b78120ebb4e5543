/** The employees API (wire.md §3). */
import { z } from 'zod';
import { type Employees, employeeInput, employeeView, viewEmployee } from '../../employees/employees.ts';
import { page } from '../../schemas.ts';
import type { Employee } from '../../store/employees.ts';
import { IDEMPOTENCY_KEY, type Once } from '../once.ts';
import { PAGE_QUERY, pageReply, readPageQuery } from '../paging.ts';
import { ok } from '../resource-routes.ts';
import { type Call, callerOf, jsonBody, patchBody, type Route } from '../route.ts';

const COLLECTION = '/services/api/x/users/v1/employees';
const ITEM = `${COLLECTION}/{userId}`;

type Dependencies = { readonly employees: Employees; readonly once: Once };

export function employeeRoutes({ employees, once }: Dependencies): Route[] {
  const shared = { access: 'guarded', tag: 'employees' } as const;
  const userId = ({ params }: Call): string => params.userId ?? '';
  return [
    {
      ...shared,
      method: 'GET',
      path: COLLECTION,
      operationId: 'listEmployees',
      summary: 'List the employees that the user may see',
      query: { ...PAGE_QUERY, division: { schema: z.string(), description: 'Of this division.' } },
      replies: { 200: { description: 'A page of employees', schema: page(employeeView) } },
      respond: (call) => {
        const asked = readPageQuery(call.query);
        const division = call.query.get('division') ?? undefined;
        const read = (limit: number) => employees.list({ division, after: asked.cursor ?? '', limit }, callerOf(call));
        return pageReply(asked, read, viewEmployee, (employee) => employee.userId);
      },
    },
    {
      ...shared,
      method: 'POST',
      path: COLLECTION,
      operationId: 'createEmployee',
      summary: 'Create an employee and queue employee.created',
      headers: IDEMPOTENCY_KEY,
      body: jsonBody(employeeInput),
      replies: { 201: { description: 'The employee', schema: employeeView } },
      respond: (call) =>
        once<Employee>(
          call,
          (employee) => ({
            status: 201,
            headers: { Location: `${COLLECTION}/${employee.userId}` },
            body: viewEmployee(employee),
          }),
          (beside) => employees.create(call.body, callerOf(call), beside),
        ),
    },
    {
      ...shared,
      method: 'GET',
      path: ITEM,
      operationId: 'getEmployee',
      summary: 'Read an employee',
      replies: { 200: { description: 'The employee', schema: employeeView } },
      respond: async (call) => ok(viewEmployee(await employees.get(userId(call), callerOf(call)))),
    },
    {
      ...shared,
      method: 'PUT',
      path: ITEM,
      operationId: 'replaceEmployee',
      summary: 'Replace an employee and queue employee.updated',
      body: jsonBody(employeeInput),
      replies: { 200: { description: 'The employee as it is now', schema: employeeView } },
      respond: async (call) => ok(viewEmployee(await employees.replace(userId(call), call.body, callerOf(call)))),
    },
    {
      ...shared,
      method: 'PATCH',
      path: ITEM,
      operationId: 'updateEmployee',
      summary: 'Change an employee (RFC 7396) and queue employee.updated',
      body: patchBody(employeeInput),
      replies: { 200: { description: 'The employee as it is now', schema: employeeView } },
      respond: async (call) => ok(viewEmployee(await employees.patch(userId(call), call.body, callerOf(call)))),
    },
  ];
}
