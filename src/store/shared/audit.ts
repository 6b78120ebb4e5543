/** The audit log. An entry is written in the transaction of its change and carries the hash of the previous entry. */

import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AuditEntry, type Changes, COMING_AND_GOING } from '../../domain/audit.ts';
import type { AuditFilter, AuditRecord, AuditStore } from '../port/audit.ts';
import type { Answer, Database, Row, Statement } from '../port/database.ts';
import { customer, json, OPERATOR_ID, readRow } from './table.ts';

/** Entries of the audit log examined per turn of the event loop. */
export const AUDIT_EXAMINED_AT_ONCE = 2000;

// The hash is computed in the transaction, where the previous entry is known.
const APPEND = `
  INSERT INTO audit (number, id, at, actor, action, target, customer_id, changes, previous_hash, hash)
  SELECT last.number + 1, @id, @at, @actor, @action, @target, @customerId, @changes, last.hash, sha256_hex(last.hash || @content)
  FROM (SELECT 0 AS number, '' AS hash UNION ALL SELECT * FROM (SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1) AS newest
        ORDER BY number DESC LIMIT 1) AS last`;
const COLUMNS = 'number, id, at, actor, action, target, customer_id, changes';
const GET = `SELECT ${COLUMNS} FROM audit WHERE id = @id`;
const NUMBER_OF = 'SELECT number FROM audit WHERE id = @id';
const ofCustomer = (sql: string): string => `${sql} AND customer_id = @customerId`;
const GET_OF_CUSTOMER = ofCustomer(GET);
const NUMBER_OF_CUSTOMER = ofCustomer(NUMBER_OF);
/** The entry about the creation of an actor says of which customer it is, also after its deletion. Index: audit_target. */
const isOf = (actor: string, customerId: string): string =>
  `EXISTS (SELECT 1 FROM audit AS about WHERE about.target = ${actor} AND about.customer_id = ${customerId})`;
const OF_CUSTOMER = `SELECT wanted.value AS actor FROM texts(@actors) AS wanted WHERE ${isOf('wanted.value', '@customerId')}`;
/** Index: audit_target. */
const LAST_OF = `
  SELECT wanted.value AS target,
    (SELECT about.at FROM audit AS about WHERE about.target = wanted.value AND about.action = @action
     ORDER BY about.number DESC LIMIT 1) AS at
  FROM texts(@targets) AS wanted`;
const SIGN_INS = COMING_AND_GOING.map((action) => `'${action}'`).join(', ');
/** As the indexes audit_kind and audit_customer_kind have it. */
export const AUDIT_KIND: string = `CASE WHEN action IN (${SIGN_INS}) THEN 'sign-ins' ELSE 'changes' END`;
/** The condition of each filter. `action` and `target` match prefixes: `webhook.`, `webhook:`. */
const CONDITIONS: { readonly [Name in keyof AuditFilter]-?: string } = {
  actor: 'actor = @actor',
  notBy: `actor <> 'service' AND substr(actor, 1, 12) <> 'portal-link:'
    AND substr(actor, 1, 13) <> 'portal-token:' AND NOT ${isOf('audit.actor', '@notBy')}`,
  action: 'substr(action, 1, length(@action)) = @action',
  target: 'target >= @target AND target < @targetEnd',
  // The second condition lets the planner use the index.
  customerId: "customer_id = @customerId AND customer_id <> ''",
  exactAction: 'action = @exactAction',
  exactTarget: 'target = @exactTarget',
  kind: `(${AUDIT_KIND}) = @kind`,
  since: 'at >= @since',
  until: 'at < @until',
};
/** Greater than every other character that can follow a prefix, in SQLite's order and in PostgreSQL's collation "C". */
const LAST_CHARACTER = '\u{10ffff}';
/** Index: audit_customer. */
const STRETCH_OF_CUSTOMER = `
  SELECT number FROM audit WHERE ${CONDITIONS.customerId} AND number <= @through ORDER BY number DESC
  LIMIT 1 OFFSET ${AUDIT_EXAMINED_AT_ONCE - 1}`;
/** Index: audit_target. */
const SOME_OF_TARGET = `SELECT number FROM audit WHERE ${CONDITIONS.target} LIMIT ${AUDIT_EXAMINED_AT_ONCE + 1}`;
const LAST_NUMBER = 'SELECT max(number) AS number FROM audit';
const HEAD = 'SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1';
const HAS_HEAD = 'SELECT 1 FROM audit WHERE number = @entries AND hash = @hash';
const CHAIN = `SELECT ${COLUMNS}, previous_hash, hash FROM audit WHERE number > @after ORDER BY number LIMIT ${AUDIT_EXAMINED_AT_ONCE}`;

export function auditStatement(entry: AuditEntry): Statement {
  const changes = JSON.stringify(entry.changes);
  const { id, at, actor, action, target } = entry;
  const customerId = customer.write(entry.customerId, '');
  return {
    sql: APPEND,
    params: { id, at, actor, action, target, customerId, changes, content: chainedContent(entry, changes) },
    expectChanges: 1,
    locks: 'audit',
  };
}

export function auditStore(db: Database): AuditStore {
  return {
    append: async (entry) => {
      await db.commit([auditStatement(entry)]);
    },
    get: async (id, customerId = null) => {
      const row = await (customerId === null ? db.get(GET, { id }) : db.get(GET_OF_CUSTOMER, { id, customerId }));
      return row === undefined ? null : read(row);
    },
    ofCustomer: async (actors, customerId) => {
      const asked = { actors: JSON.stringify([...new Set(actors)]), customerId };
      return new Set((await db.all(OF_CUSTOMER, asked)).map(({ actor }) => String(actor)));
    },
    lastOf: async (action, targets) => {
      if (targets.length === 0) return new Map();
      const rows = await db.all(LAST_OF, { action, targets: JSON.stringify([...new Set(targets)]) });
      return new Map(rows.flatMap(({ target, at }) => (at === null ? [] : [[String(target), Number(at)]])));
    },
    head: async () => {
      const row = await db.get(HEAD, {});
      return row === undefined ? null : { entries: Number(row.number), hash: String(row.hash) };
    },
    hasHead: async (head) => (await db.get(HAS_HEAD, head)) !== undefined,
    list: (before, limit, filter = {}) => list(db, { before, limit, filter }),
    firstBroken: async () => {
      let after = 0;
      let previous = '';
      for (;;) {
        const rows = await db.all(CHAIN, { after });
        if (rows.length === 0) return null;
        for (const row of rows) {
          if (row.number !== after + 1 || row.previous_hash !== previous || !isChained(row, previous))
            return Number(row.number);
          previous = String(row.hash);
          after += 1;
        }
      }
    },
  };
}

/**
 * Whether the hash of an entry is that of its content. PostgreSQL stores no U+0000: entries of earlier versions may have been hashed with
 * it and stored with U+FFFD in its place.
 */
function isChained(row: Row, previous: string): boolean {
  const target = String(row.target);
  const targets = target.includes('\uFFFD') ? [target, target.replaceAll('\uFFFD', '\0')] : [target];
  return targets.some((one) => {
    // The text of the changes is hashed as stored. If it was tampered with, it may not be JSON.
    const content = chainedContent({ ...row, target: one, customerId: row.customer_id }, String(row.changes));
    return (
      createHash('sha256')
        .update(previous + content)
        .digest('hex') === row.hash
    );
  });
}

type Page = { readonly before: string | null; readonly limit: number; readonly filter: AuditFilter };

/**
 * If few entries match, a page scans the whole log, or all entries of the customer, in stretches of about a millisecond with a turn of the
 * event loop between them.
 */
async function list(db: Database, { before, limit, filter }: Page): Promise<AuditRecord[]> {
  const names = Object.keys(filter) as (keyof AuditFilter)[];
  const isCustomers = filter.customerId !== undefined;
  // A prefix has no bound: for a customer, no index of targets may be used.
  const condition = (name: keyof AuditFilter): string =>
    name === 'target' && isCustomers ? 'substr(target, 1, length(@target)) = @target' : CONDITIONS[name];
  const where = ['number BETWEEN @from AND @through', ...names.map(condition)].join(' AND ');
  const sql = `SELECT ${COLUMNS} FROM audit WHERE ${where} ORDER BY number DESC LIMIT @limit`;
  const asked = { ...filter, targetEnd: `${filter.target ?? ''}${LAST_CHARACTER}` };
  const beginOf = await stretches(db, names, asked);
  const found: AuditRecord[] = [];
  let through = await lastNumber(db, before, filter.customerId ?? null);
  while (found.length < limit && through > 0) {
    const from = await beginOf(through);
    const rows = await db.all(sql, { ...asked, from, through, limit: limit - found.length });
    found.push(...rows.map(read));
    through = from - 1;
    if (found.length < limit && through > 0) await nextTurn();
  }
  return found;
}

/** Returns the first number of the stretch that ends with a number. 0: an index leaves few entries that are not on the page. */
async function stretches(
  db: Database,
  names: readonly (keyof AuditFilter)[],
  asked: AuditFilter & { readonly targetEnd: string },
): Promise<(through: number) => Answer<number>> {
  const { customerId } = asked;
  const others = names.filter((name) => name !== 'customerId' && name !== 'kind');
  const isPlain = others.length === 0 && (customerId !== undefined || names.length > 0);
  if (isPlain || names.includes('exactTarget')) return () => 0;
  if (customerId !== undefined)
    return async (through) => Number((await db.get(STRETCH_OF_CUSTOMER, { customerId, through }))?.number ?? 0);
  const isNarrow = names.includes('target') && (await db.all(SOME_OF_TARGET, asked)).length <= AUDIT_EXAMINED_AT_ONCE;
  return (through) => (isNarrow ? 0 : through - AUDIT_EXAMINED_AT_ONCE + 1);
}

/** The newest number of the page; 0 if there is none. */
async function lastNumber(db: Database, before: string | null, customerId: string | null): Promise<number> {
  if (before === null) return Number((await db.get(LAST_NUMBER, {}))?.number ?? 0);
  const row = await (customerId === null
    ? db.get(NUMBER_OF, { id: before })
    : db.get(NUMBER_OF_CUSTOMER, { id: before, customerId }));
  return Number(row?.number ?? 1) - 1;
}

type Chained = { readonly [Field in 'id' | 'at' | 'actor' | 'action' | 'target' | 'customerId']?: unknown };

function chainedContent({ id, at, actor, action, target, customerId }: Chained, changesJson: string): string {
  return JSON.stringify([id, at, actor, action, target, changesJson, customerId === OPERATOR_ID ? null : customerId]);
}

function read(row: Row): AuditRecord {
  return readRow<AuditRecord>(row, { customerId: customer, changes: json<Changes>() });
}
