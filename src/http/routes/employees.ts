/** The employees API (contract §3.4). */

import type { Employee } from '../../domain/employee.ts';
import {
  type Employees,
  employeeInput,
  employeeReader,
  employeeTag,
  employeeView,
  viewEmployee,
} from '../../employees/employees.ts';
import { page } from '../../kernel/schemas.ts';
import { type Filters, textFilter } from '../../resources/list-rules.ts';
import { changed, ETAG, IF_MATCH, IF_NONE_MATCH, NOT_MODIFIED, read, readIfMatch } from '../conditional.ts';
import { IDEMPOTENCY_KEY, type Once } from '../once.ts';
import { PAGE_QUERY, pageReply, readFilter, readPageQuery } from '../paging.ts';
import { type Call, jsonBody, patchBody, type Reply, type Route, requireCaller } from '../route.ts';

const COLLECTION = '/services/api/x/users/v1/employees';
const ITEM = `${COLLECTION}/{userId}`;

const FILTERS: Filters = {
  userName: textFilter('With this user name.'),
  externalId: textFilter('With this external id.'),
};

type Dependencies = { readonly employees: Employees; readonly once: Once };

const SHARED = { for: 'operator', access: 'guarded', tag: 'employees' } as const;

export function employeeRoutes(dependencies: Dependencies): Route<'operator'>[] {
  return [...readingRoutes(dependencies), createRoute(dependencies), ...changeRoutes(dependencies)];
}

function readingRoutes({ employees }: Dependencies): Route<'operator'>[] {
  return [
    {
      ...SHARED,
      method: 'GET',
      path: COLLECTION,
      operationId: 'listEmployees',
      summary: 'List the employees that the user may see',
      query: { ...PAGE_QUERY, division: textFilter('Of this division.'), ...FILTERS },
      replies: { 200: { description: 'A page of employees', schema: page(employeeView) } },
      respond: (call) => {
        const asked = readPageQuery(call.query);
        const division = call.query.get('division') ?? undefined;
        const filter = readFilter(call.query, FILTERS);
        const list = (limit: number) =>
          employees.list({ division, after: asked.cursor ?? '', limit, filter }, requireCaller(call));
        return pageReply(asked, list, viewEmployee, (employee) => employee.userId);
      },
    },
    {
      ...SHARED,
      method: 'GET',
      path: ITEM,
      operationId: 'getEmployee',
      summary: 'Read an employee',
      headers: IF_NONE_MATCH,
      replies: { 200: { description: 'The employee', schema: employeeView, headers: ETAG }, ...NOT_MODIFIED },
      respond: async (call) => {
        const employee = await employees.get(userId(call), requireCaller(call));
        return read(call, viewEmployee(employee), employeeTag(employee));
      },
    },
  ];
}

function createRoute({ employees, once }: Dependencies): Route<'operator'> {
  return {
    ...SHARED,
    method: 'POST',
    path: COLLECTION,
    operationId: 'createEmployee',
    summary: 'Create an employee and queue employee.created',
    headers: IDEMPOTENCY_KEY,
    body: jsonBody(employeeInput),
    replies: { 201: { description: 'The employee', schema: employeeView, headers: ETAG } },
    respond: (call) =>
      once<Employee>(
        call,
        (employee) => {
          const { headers, body } = changedReply(employee);
          return { status: 201, headers: { Location: `${COLLECTION}/${employee.userId}`, ...headers }, body };
        },
        (beside) => employees.create(employeeReader.create(call.body), requireCaller(call), beside),
      ),
  };
}

function changeRoutes({ employees }: Dependencies): Route<'operator'>[] {
  const shared = {
    ...SHARED,
    path: ITEM,
    headers: IF_MATCH,
    replies: { 200: { description: 'The employee as it is now', schema: employeeView, headers: ETAG } },
  } as const;
  const changeTo = async (call: Call, next: Parameters<Employees['change']>[1]): Promise<Reply> =>
    changedReply(await employees.change(userId(call), next, requireCaller(call), readIfMatch(call)));
  return [
    {
      ...shared,
      method: 'PUT',
      operationId: 'replaceEmployee',
      summary: 'Replace an employee and queue employee.updated',
      body: jsonBody(employeeInput),
      respond: (call) => changeTo(call, () => employeeReader.create(call.body)),
    },
    {
      ...shared,
      method: 'PATCH',
      operationId: 'updateEmployee',
      summary: 'Change an employee (RFC 7396) and queue employee.updated',
      body: patchBody(employeeInput),
      respond: (call) => changeTo(call, (before) => employeeReader.apply(before, employeeReader.patch(call.body))),
    },
  ];
}

function userId({ params }: Call): string {
  return params.userId ?? '';
}

function changedReply(employee: Employee): Reply {
  return changed({ shown: viewEmployee(employee) }, employeeTag(employee));
}
