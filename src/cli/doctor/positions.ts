/** Checks whether the positions of webhooks match the stored records. */
import type { Database } from '../../store/port/database.ts';
import { type Finding, ok, problem } from './finding.ts';

// Retention deletes no record that waits. The newest record of a webhook is the one before `next_offset`, which follows from recent
// records.
const WRONG = `
  SELECT w.name FROM webhook_status AS p JOIN webhook AS w ON w.number = p.webhook_number
  WHERE p.cursor_offset > p.next_offset
    OR EXISTS (SELECT 1 FROM outbox AS o WHERE o.webhook_number = p.webhook_number AND o.record_offset >= p.next_offset)
    OR (p.cursor_offset < p.next_offset AND NOT EXISTS (
      SELECT 1 FROM outbox AS o WHERE o.webhook_number = p.webhook_number AND o.record_offset = p.next_offset - 1))
    OR (p.cursor_offset < p.next_offset AND NOT EXISTS (
      SELECT 1 FROM outbox AS o WHERE o.webhook_number = p.webhook_number AND o.record_offset = p.cursor_offset))
  ORDER BY w.name LIMIT 4`;

export async function examinePositions(db: Database): Promise<Finding> {
  const check = 'positions';
  const names = (await db.all(WRONG, {})).map(({ name }) => String(name));
  if (names.length === 0) return ok(check, 'the position of every webhook fits its records');
  const shown = names.length > 3 ? `${names.slice(0, 3).join(', ')} and others` : names.join(', ');
  return problem(
    check,
    `the positions of ${shown} do not fit their records, which are lost or come from another backup: restore the whole backup`,
  );
}
