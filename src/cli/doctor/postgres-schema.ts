/** The checks of `sallyport doctor` on tables: missing, locked or damaged ones, and missing rights of the role. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../store/port/database.ts';
import { readTables, settingsOfRole, tableLocks } from '../../store/postgres/condition.ts';
import { type Defect, namesOf, schemaDefects } from '../../store/postgres/defects.ts';
import { isSetBySallyport } from '../../store/postgres/driver/settings.ts';
import type { ServerFacts } from '../../store/postgres/server.ts';
import { type Finding, ok, problem, warning } from './finding.ts';

/** No transaction of Sallyport locks a whole table for this long. */
const LOCK_HELD_MS = 1000;
/** For how long tables are read. */
const TABLES_READ_MS = 60_000;

/** Locks that make everything else wait, also the other checks. */
export async function examineLocks(db: Database): Promise<Finding> {
  const check = 'locks';
  const before = await tableLocks(db);
  if (before.length > 0) await pause(LOCK_HELD_MS);
  const keyOf = ({ table, mode, process }: (typeof before)[number]): string => `${table} ${mode} ${process}`;
  const known = new Set(before.map(keyOf));
  const held = before.length === 0 ? [] : (await tableLocks(db)).filter((one) => known.has(keyOf(one)));
  const [first] = held;
  if (first === undefined) return ok(check, 'no transaction holds a lock on a whole table');
  const tables = [...new Set(held.map(({ table }) => table))];
  const shown =
    tables.length > 3 ? `${tables.slice(0, 3).join(', ')} and ${tables.length - 3} more` : tables.join(', ');
  const holder =
    first.process === null
      ? 'a prepared transaction holds them: commit it or roll it back'
      : `process ${first.process} holds them: end its transaction, or SELECT pg_terminate_backend(${first.process})`;
  return problem(
    check,
    `${shown} ${tables.length === 1 ? 'is' : 'are'} locked (${first.mode}), and everybody waits; ${holder}`,
  );
}

/** Missing rights of the role, and missing parts of the schema. */
export async function examineObjects(db: Database, { role, schema }: ServerFacts): Promise<Finding[]> {
  const defects = await schemaDefects(db);
  const denied = defects.filter(({ kind }) => kind === 'privilege');
  const missing = defects.filter(({ kind }) => kind !== 'privilege');
  return [
    denied.length === 0
      ? ok('access', `${role} may read and write all tables`)
      : problem('access', `${role} lacks ${namesOf(denied)}: ${grantOf(denied, schema, role)}`),
    ...(missing.length === 0
      ? [ok('objects', 'every table, column, index, function and trigger is there')]
      : examineMissing(missing)),
  ];
}

function grantOf(denied: readonly Defect[], schema: string | null, role: string): string {
  const ofFunctions = denied.every(({ name }) => name.startsWith('EXECUTE'));
  const what = ofFunctions ? 'EXECUTE ON ALL FUNCTIONS' : 'SELECT, INSERT, UPDATE, DELETE ON ALL TABLES';
  return `GRANT ${what} IN SCHEMA ${schema} TO ${role}`;
}

function examineMissing(missing: readonly Defect[]): Finding[] {
  const slow = missing.filter(({ kind }) => kind === 'index');
  const needed = missing.filter(({ kind }) => kind !== 'index');
  return [
    ...(needed.length === 0
      ? []
      : [
          problem(
            'objects',
            `the schema lacks ${namesOf(needed)}: restore a backup into an empty database, or make them as in a new one`,
          ),
        ]),
    ...(slow.length === 0
      ? []
      : [
          problem(
            'objects',
            `the schema lacks ${namesOf(slow)}, so statements read whole tables: make it as in a new database`,
          ),
        ]),
  ];
}

/** Damaged pages. */
export async function examineTables(db: Database): Promise<Finding> {
  const check = 'tables';
  const { damaged, unread } = await readTables(db, TABLES_READ_MS);
  if (damaged.length > 0) {
    return problem(
      check,
      `${damaged.slice(0, 3).join('; ')} cannot be read: restore a backup, or fail over to a standby that is intact`,
    );
  }
  return unread === 0
    ? ok(check, 'every page of every table can be read')
    : ok(
        check,
        `the smaller tables can be read; ${unread} were left out after ${TABLES_READ_MS / 1000} s: run pg_amcheck`,
      );
}

/** Settings of the role and the database that Sallyport does not use. */
export async function examineSettings(db: Database): Promise<Finding> {
  const check = 'settings';
  const unused = (await settingsOfRole(db)).filter(isSetBySallyport);
  return unused.length === 0
    ? ok(check, 'the role and the database set nothing that Sallyport sets itself')
    : warning(
        check,
        `the role or the database sets ${unused.join(', ')}, which Sallyport does not use: each of its sessions has its own value`,
      );
}
