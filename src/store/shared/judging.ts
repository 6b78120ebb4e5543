/** The filters of webhooks (`webhook.filter`): which of the webhooks that subscribe to an event do not get it. */
import { type Audience, EVERYONE, type NewEvent, OPERATOR_ONLY } from '../../domain/event.ts';
import { compileFilter, type EventFilter, type Judged } from '../../domain/filter.ts';
import type { StateChange } from '../../domain/webhook.ts';
import { parsing } from '../../kernel/json-parts.ts';
import { createLru, type Lru } from '../../kernel/lru.ts';
import { inOnePiece, slices, type Work } from '../../kernel/slices.ts';
import type { Answer, Database, Row } from '../port/database.ts';

/** Compiled filters that are kept, by their text. */
const FILTERS_CACHED = 2000;

/** If judging took longer than this, filters that changed in between judge again, at most `JUDGEMENTS_MAX` times. */
const JUDGED_AGAIN_MS = 50;
const JUDGEMENTS_MAX = 10;

// Index: subscription_filtered, which is empty while no webhook has a filter.
const filters = (condition: string): string => `
  SELECT number, customer_id, updated_at FROM webhook WHERE number IN (
    SELECT s.webhook_number FROM texts(@patterns) AS p CROSS JOIN subscription AS s INDEXED BY subscription_filtered
    WHERE s.pattern = p.value AND s.filtered ${condition})`;
const FILTERS = filters('AND s.customer_id IN (SELECT a.value FROM texts(@audiences) AS a)');
const FILTERS_OF_ALL = filters('');
const TEXTS =
  'SELECT number, updated_at, filter FROM webhook WHERE number IN (SELECT n.value FROM numbers(@numbers) AS n)';
/** Filters have up to 16 KiB each. */
const TEXTS_AT_ONCE = 20;
// Most installations have no filters. This look takes 3 µs on SQLite, half of the query above.
const ANY_FILTER = 'SELECT 1 FROM subscription INDEXED BY subscription_filtered WHERE filtered LIMIT 1';

type Passes = (event: Judged) => boolean;
/** A webhook with a filter, as it was at `updatedAt`: every change of a webhook is later than the one before. */
export type Filtered = { readonly number: number; readonly customerId: string; readonly updatedAt: number };
type Compiled = { readonly updatedAt: number; readonly passes: Passes };

/** By their text. */
const compiledTexts = createLru<string, Passes>({ max: FILTERS_CACHED });

function compile(text: string): Passes {
  const passes = compiledTexts.get(text) ?? compileFilter(JSON.parse(text) as EventFilter);
  compiledTexts.set(text, passes);
  return passes;
}

type Reads = Pick<Database, 'all' | 'get'>;

/** By the number of the webhook. The texts are long: without this, every event would read all of them. */
const compiledOf = new WeakMap<Reads, Lru<number, Compiled>>();

function compiledIn(db: Reads): Lru<number, Compiled> {
  const known = compiledOf.get(db);
  if (known !== undefined) return known;
  const made = createLru<number, Compiled>({ max: FILTERS_CACHED });
  compiledOf.set(db, made);
  return made;
}

/** The fields that decide which filters judge an event. */
export type Addressed = Pick<NewEvent, 'type' | 'audience'>;

/** The webhooks that have a filter and get events of these types and audiences. */
export async function filteredWebhooks(db: Reads, addressed: readonly Addressed[]): Promise<Filtered[]> {
  const patterns = ['*', ...new Set(addressed.flatMap(({ type }) => [type, categoryPattern(type)]))];
  const audiences = [...new Set(['', ...addressed.map(({ audience }) => audience)])];
  const isForAll = audiences.includes(EVERYONE);
  const params = { patterns: JSON.stringify(patterns), ...(isForAll ? {} : { audiences: JSON.stringify(audiences) }) };
  const rows = await db.all(isForAll ? FILTERS_OF_ALL : FILTERS, params);
  return rows.map(filteredOf);
}

function filteredOf({ number, customer_id: customerId, updated_at: updatedAt }: Row): Filtered {
  return { number: Number(number), customerId: String(customerId), updatedAt: Number(updatedAt) };
}

/** The pattern for all events of the type's category, for example `employee.*`. */
export function categoryPattern(type: string): string {
  return `${type.slice(0, type.indexOf('.'))}.*`;
}

/** Those of the webhooks that the audience reaches. */
function reached(filtered: readonly Filtered[], audience: Audience): readonly Filtered[] {
  if (audience === EVERYONE) return filtered;
  return filtered.filter(({ customerId }) => customerId === '' || customerId === audience);
}

/** Finds at least the filtered webhooks that would get these events. */
type FindFilters = (addressed: readonly Addressed[]) => Answer<readonly Filtered[]>;

/** Whether any webhook has a filter. */
export async function hasFilters(db: Reads): Promise<boolean> {
  return (await db.get(ANY_FILTER, {})) !== undefined;
}

/** Reads and compiles those filters that changed since they were compiled. Webhooks that lost their filter are left out. */
async function readFilters(
  db: Reads,
  filtered: readonly Filtered[],
  run: <T>(work: Work<T>) => Promise<T>,
): Promise<Map<Filtered, Passes>> {
  const compiled = compiledIn(db);
  const found = new Map<Filtered, Passes>();
  const missing: Filtered[] = [];
  for (const one of filtered) {
    const known = compiled.get(one.number);
    if (known?.updatedAt === one.updatedAt) found.set(one, known.passes);
    else missing.push(one);
  }
  for (let at = 0; at < missing.length; at += TEXTS_AT_ONCE) {
    const wanted = new Map(missing.slice(at, at + TEXTS_AT_ONCE).map((one) => [one.number, one]));
    const numbers = JSON.stringify([...wanted.keys()]);
    const rows = await run(reading(() => db.all(TEXTS, { numbers })));
    await run(
      (function* () {
        for (const { number, updated_at: updatedAt, filter } of rows) {
          const one = wanted.get(Number(number));
          if (one === undefined || filter === null) continue;
          const passes = compile(String(filter));
          compiled.set(one.number, { updatedAt: Number(updatedAt), passes });
          found.set(one, passes);
          yield;
        }
      })(),
    );
  }
  return found;
}

// biome-ignore lint/correctness/useYield: it is one step.
function* reading<T>(read: () => T): Work<T> {
  return read();
}

/** Judgements between two places where the work may pause. The worst filters take 80 µs. */
const JUDGED_AT_ONCE = 16;

/** For each event, the numbers of the webhooks whose filters it does not pass. */
function* judging(
  events: readonly NewEvent[],
  passes: ReadonlyMap<Filtered, Passes>,
): Generator<void, ReadonlyMap<NewEvent, number[]>, void> {
  const all = [...passes.keys()];
  const ofAudience = new Map<Audience, readonly Filtered[]>();
  const excluded = new Map<NewEvent, number[]>();
  let sinceYield = 0;
  for (const event of events) {
    const filtered = ofAudience.get(event.audience) ?? reached(all, event.audience);
    ofAudience.set(event.audience, filtered);
    if (filtered.length === 0) continue;
    const seen: Judged = { type: event.type, subject: event.subject, data: yield* parsing(event.dataJson) };
    const numbers: number[] = [];
    for (const one of filtered) {
      if (passes.get(one)?.(seen) === false) numbers.push(one.number);
      sinceYield += 1;
      if (sinceYield % JUDGED_AT_ONCE === 0) yield;
    }
    if (numbers.length > 0) excluded.set(event, numbers);
    yield;
  }
  return excluded;
}

/** Whose work it is to judge events of this audience: that of the customer whose filters judge them. */
function judgedFor(audience: Audience): string | null {
  return audience === EVERYONE || audience === OPERATOR_ONLY ? null : audience;
}

/**
 * The events with the webhooks whose filters they do not pass, judged in slices (`kernel/slices.ts`), which may take long: filters that
 * change during that time judge again. Throws 429 if too much of a customer waits to be judged.
 */
export async function judge(db: Reads, events: readonly NewEvent[], find: FindFilters): Promise<readonly NewEvent[]> {
  const groups = Map.groupBy(events, ({ audience }) => judgedFor(audience));
  const judgedGroups = await Promise.all(
    [...groups].map(([customerId, group]) => judgeGroup(db, customerId, group, find)),
  );
  const excluded = new Map(judgedGroups.flatMap((one) => [...one]));
  return excluded.size === 0 ? events : events.map((event) => ({ ...event, excluded: excluded.get(event) ?? [] }));
}

type Verdicts = Map<number, { readonly updatedAt: number; readonly stopped: NewEvent[] }>;

async function judgeGroup(
  db: Reads,
  customerId: string | null,
  events: readonly NewEvent[],
  find: FindFilters,
): Promise<ReadonlyMap<NewEvent, number[]>> {
  const bytes = events.reduce((sum, { dataJson }) => sum + dataJson.length, 0);
  const run = <T>(work: Work<T>): Promise<T> => slices(customerId, work, bytes);
  const verdicts: Verdicts = new Map();
  for (let round = 1; ; round += 1) {
    const foundAt = performance.now();
    // SQLite reads synchronously, so the read is work too.
    const found = await run(reading(() => find(events)));
    const filtered = customerId === null ? found : reached(found, customerId);
    if (filtered.length === 0) return new Map();
    const changed = filtered.filter(({ number, updatedAt }) => verdicts.get(number)?.updatedAt !== updatedAt);
    for (const { number } of changed) verdicts.delete(number);
    const passes = await readFilters(db, changed, run);
    if (passes.size > 0) keep(verdicts, passes, await run(judging(events, passes)));
    const isCurrent = performance.now() - foundAt < JUDGED_AGAIN_MS;
    if (isCurrent || round === JUDGEMENTS_MAX) return excludedBy(verdicts, filtered);
  }
}

function keep(
  verdicts: Verdicts,
  passes: ReadonlyMap<Filtered, Passes>,
  excluded: ReadonlyMap<NewEvent, readonly number[]>,
): void {
  for (const { number, updatedAt } of passes.keys()) verdicts.set(number, { updatedAt, stopped: [] });
  for (const [event, numbers] of excluded) for (const number of numbers) verdicts.get(number)?.stopped.push(event);
}

function excludedBy(verdicts: Verdicts, filtered: readonly Filtered[]): ReadonlyMap<NewEvent, number[]> {
  const excluded = new Map<NewEvent, number[]>();
  for (const { number } of filtered) {
    for (const event of verdicts.get(number)?.stopped ?? []) {
      const numbers = excluded.get(event) ?? [];
      numbers.push(number);
      excluded.set(event, numbers);
    }
  }
  return excluded;
}

/** The same for the service's own events, which are few and small: without slices. */
async function judgedAtOnce(db: Reads, events: readonly NewEvent[]): Promise<readonly NewEvent[]> {
  if (events.length === 0 || !(await hasFilters(db))) return events;
  const filtered = await filteredWebhooks(db, events);
  const excluded = inOnePiece(judging(events, await readFilters(db, filtered, async (work) => inOnePiece(work))));
  return events.map((event) => ({ ...event, excluded: excluded.get(event) ?? [] }));
}

export async function judgedEvent(db: Database, event: NewEvent): Promise<NewEvent> {
  const [one = event] = await judgedAtOnce(db, [event]);
  return one;
}

/** State changes whose events are judged. */
export async function judgedChanges(db: Database, changes: readonly StateChange[]): Promise<StateChange[]> {
  const events = changes.flatMap(({ event }) => (event === null ? [] : [event]));
  const found = new Map((await judgedAtOnce(db, events)).map((event) => [event.id, event]));
  return changes.map((change) => ({ ...change, event: found.get(change.event?.id ?? '') ?? change.event }));
}
