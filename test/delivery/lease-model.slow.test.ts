/**
 * A model of how instances share a webhook: leases, epochs, claims that only memory knows, settlements, positions, pauses, crashes and
 * hand-overs, in every order in which two instances can take their steps. The webhook is ordered and has two records.
 *
 * Each step is one transaction, or one action of one process between two of them. A pause needs no step of its own: an instance may take no
 * step for as long as it likes. The statements that the steps stand for are in store/postgres/instances.ts, dispatch.ts and settlements.ts.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explore, type Model } from '../support/explorer.ts';

/** Possible faults of an implementation. Each must be found. */
const FAULTS = [
  'a settlement does not check the hold',
  'a settlement checks the hold of now, not that of the claim',
  'an instance does not look at its lease before it sends',
  'an instance is expired by what was read earlier',
  'the batches of an expired instance are not released',
  'a webhook is given back while its request is under way',
  'an instance takes a webhook after it was expired',
  'a renewal after the expiry finds nothing wrong',
  'a take-over goes on from the position without reading the batches',
  'a position passes records that are claimed and have no row',
] as const;
type Fault = (typeof FAULTS)[number];

const RECORDS = 2;
/** Records of a new batch at most. Instances may cut the same records differently. */
const BATCH_RECORDS = 2;
/** How often an instance crashes or is expired; how often one gives the webhook back, or sends in vain. */
const DEATHS = 1;
const EPOCHS_GIVEN_BACK = 1;
const ATTEMPTS_IN_VAIN = 1;

type Name = 'A' | 'B';
type Process = {
  /** The number under which it joined; a crash or an expiry ends it. */
  readonly number: number;
  /** Whether its lease runs by its own clock. It ends there before it ends in the database. */
  readonly sends: boolean;
  /** The epoch in which it holds the webhook. */
  readonly epoch: number | null;
  /** The first record that is in no batch and not claimed; null until it has read where the webhook is. */
  readonly next: number | null;
  readonly work: 'none' | 'claimed' | 'sending' | 'sent';
  /** Its claims. Nobody else knows them. `isStored`: it has a row. */
  readonly first: number;
  readonly last: number;
  readonly attempt: number;
  readonly isStored: boolean;
  /** An expired instance that it saw, and may expire later (only with a fault). */
  readonly saw: number | null;
};

/** `owner`: of a slow attempt that is in progress. */
type Row = {
  readonly first: number;
  readonly last: number;
  readonly isDelivered: boolean;
  readonly attempt: number;
  readonly owner: number | null;
};

type State = {
  readonly A: Process;
  readonly B: Process;
  /** Rows of instances: whether they have expired. */
  readonly rows: readonly { readonly number: number; readonly expired: boolean }[];
  readonly holder: number | null;
  readonly epoch: number;
  /** In order. */
  readonly batches: readonly Row[];
  readonly covered: number;
  readonly deaths: number;
  readonly nextNumber: number;
  /** Records in the order in which the receiver first got them. */
  readonly received: readonly number[];
  /** An instance began to send for a webhook that it no longer held. */
  readonly isAstray: boolean;
};

const OTHER = { A: 'B', B: 'A' } as const;
const NOTHING = { work: 'none', first: 0, last: 0, attempt: 0, isStored: false } as const;

function joined(number: number): Process {
  return { number, sends: true, epoch: null, next: null, ...NOTHING, saw: null };
}

const INITIAL: State = {
  A: joined(1),
  B: joined(2),
  rows: [
    { number: 1, expired: false },
    { number: 2, expired: false },
  ],
  holder: null,
  epoch: 0,
  batches: [],
  covered: 0,
  deaths: 0,
  nextNumber: 3,
  received: [],
  isAstray: false,
};

function model(fault: Fault | null): Model<State> {
  return {
    initial: INITIAL,
    steps: (state) => [...stepsOf(state, 'A', fault), ...stepsOf(state, 'B', fault)],
    problem,
    isDone,
  };
}

/** The first record from `from` on that is behind all batches. */
const beyond = (batches: readonly Row[], from: number): number =>
  batches.reduce((next, { first, last }) => (first >= from ? Math.max(next, last + 1) : next), from);

function isDone({ batches }: State): boolean {
  return batches.every(({ isDelivered }) => isDelivered) && beyond(batches, 0) === RECORDS;
}

function problem({ A, B, received, batches, covered, isAstray }: State): string | null {
  if (isAstray) return 'an instance sends for a webhook that it no longer holds';
  if (received.some((record, at) => record !== at)) return 'a record overtook an earlier one';
  for (const [at, { first, last, isDelivered }] of batches.entries()) {
    if (first !== (at === 0 ? 0 : (batches[at - 1]?.last ?? 0) + 1)) return 'batches overlap, or leave a gap';
    if (isDelivered && last >= received.length) return 'a record counts as delivered that the receiver never got';
  }
  if (covered > beyond(batches, 0)) return 'the position passes a record without a row';
  const sending = [A, B].filter(({ sends, work }) => sends && (work === 'claimed' || work === 'sending'));
  return sending.length === 2 ? 'two instances send for one webhook' : null;
}

function stepsOf(state: State, name: Name, fault: Fault | null): readonly (readonly [string, State])[] {
  const me = state[name];
  const row = state.rows.find(({ number }) => number === me.number);
  const steps: [string, State][] = [];
  const step = (what: string, next: Partial<State>): void =>
    void steps.push([`${name} ${what}`, { ...state, ...next }]);
  const change = (process: Partial<Process>): Partial<State> => ({ [name]: { ...me, ...process } });

  // Both are alike, so it is enough that A takes it first.
  if (me.epoch === null && state.holder === null && !isDone(state) && (state.epoch > 0 || name === 'A')) {
    // The reference to the instance's row refuses a number that was deleted.
    if (row !== undefined || fault === 'an instance takes a webhook after it was expired')
      step('takes', { ...change({ epoch: state.epoch + 1 }), holder: me.number, epoch: state.epoch + 1 });
  }
  if (me.epoch !== null && me.next === null) {
    const reads = fault !== 'a take-over goes on from the position without reading the batches';
    step('reads where it is', change({ next: reads ? beyond(state.batches, state.covered) : state.covered }));
  }
  if (me.work === 'none' && me.next !== null) claims(state, me.next, change, step);
  if (me.work === 'claimed') {
    if (me.sends || fault === 'an instance does not look at its lease before it sends')
      step('looks at its lease', { ...change({ work: 'sending' }), isAstray: state.holder !== me.number });
    else step('does not send', change({ work: 'sent' }));
  }
  if (me.work === 'sending') {
    const records = Array.from({ length: me.last - me.first + 1 }, (_, n) => me.first + n);
    const received = [...state.received, ...records.filter((record) => !state.received.includes(record))];
    step('sends', { ...change({ work: 'sent' }), received });
  }
  settlements(state, name, fault, change, step);
  const isIdle = me.work === 'none' || fault === 'a webhook is given back while its request is under way';
  if (me.epoch === null && state.holder === me.number && me.sends)
    step('reads its epoch', change({ epoch: state.epoch }));
  if (me.epoch !== null && isIdle && state.holder === me.number && state.epoch <= EPOCHS_GIVEN_BACK) {
    const batches = state.batches.map((batch) => ({ ...batch, owner: null }));
    step('gives back', { ...change({ epoch: null, next: null }), holder: null, batches });
  }

  // Time.
  if (me.sends) step('finds its lease ended', change({ sends: false }));
  if (!me.sends && row !== undefined && !row.expired)
    step('expires', { rows: state.rows.map((one) => (one === row ? { ...one, expired: true } : one)) });
  if (!me.sends) {
    if (row !== undefined)
      step('renews', {
        ...change({ sends: true }),
        rows: state.rows.map((one) => (one === row ? { ...one, expired: false } : one)),
      });
    else if (fault === 'a renewal after the expiry finds nothing wrong') step('renews', change({ sends: true }));
    else rejoin(state, me, fault, change, step);
  }
  // A crash forgets everything in memory, and the process starts again.
  if (state.deaths < DEATHS) {
    const number = state.nextNumber;
    step('crashes and starts', {
      [name]: joined(number),
      rows: [...state.rows, { number, expired: false }],
      deaths: state.deaths + 1,
      nextNumber: number + 1,
    });
  }
  expiries(state, name, fault, change, step);
  return steps;
}

type Change = (process: Partial<Process>) => Partial<State>;
type Step = (what: string, next: Partial<State>) => void;

/** The first pending batch, or else new records. Nothing is written. */
function claims({ batches }: State, next: number, change: Change, step: Step): void {
  const pending = batches.find(({ isDelivered }) => !isDelivered);
  if (pending !== undefined) {
    const { first, last, attempt } = pending;
    step('claims a retry', change({ work: 'claimed', first, last, attempt: attempt + 1, isStored: true }));
    return;
  }
  for (let size = 1; size <= Math.min(BATCH_RECORDS, RECORDS - next); size += 1) {
    const claimed = { first: next, last: next + size - 1, attempt: 1, isStored: false } as const;
    step(`claims ${size}`, change({ work: 'claimed', ...claimed, next: next + size }));
  }
}

/** The writes of a process. Each checks the hold in its transaction. */
function settlements(state: State, name: Name, fault: Fault | null, change: Change, step: Step): void {
  const me = state[name];
  const { first, last, attempt, isStored } = me;
  const holds = me.epoch !== null && state.holder === me.number && state.epoch === me.epoch;
  const mayWrite = holds || fault === 'a settlement does not check the hold';
  const found = state.batches.find((batch) => batch.first === first);
  const withRow = (changed: Partial<Row>): readonly Row[] =>
    [
      ...state.batches.filter((batch) => batch.first !== first),
      { first, last, isDelivered: false, attempt, owner: null, ...changed },
    ].toSorted((one, other) => one.first - other.first);

  const isHeld =
    me.work !== 'none' && !isStored && fault !== 'a position passes records that are claimed and have no row';
  const position = isHeld ? first : me.next;
  if (position !== null && position > state.covered && holds) step('writes its position', { covered: position });
  if (me.work === 'sending' && !isStored && found === undefined && mayWrite)
    step('writes the row of a slow attempt', {
      ...change({ isStored: true }),
      batches: withRow({ owner: me.number }),
    });
  if (me.work !== 'sent') return;
  const isAsAttempted =
    found !== undefined &&
    !found.isDelivered &&
    ((found.owner === null && found.attempt === attempt - 1) ||
      (found.owner === me.number && found.attempt === attempt));
  const isMine = isStored ? isAsAttempted : found === undefined;
  if (!mayWrite || !isMine) {
    // Its claim counts no more. If the webhook is another's, it reads who holds it, and where that is.
    step('settles in vain', change(holds ? NOTHING : { ...NOTHING, epoch: null, next: null }));
    return;
  }
  // A job that was not sent is released, and a request may fail although the receiver got it.
  if (state.received.includes(last)) step('settles', { ...change(NOTHING), batches: withRow({ isDelivered: true }) });
  else step('releases', { ...change(NOTHING), batches: withRow({ attempt: attempt - 1 }) });
  if (attempt <= ATTEMPTS_IN_VAIN) step('fails', { ...change(NOTHING), batches: withRow({}) });
}

/** It was expired. Requests under way end, and what it held is forgotten. */
function rejoin(state: State, me: Process, fault: Fault | null, change: Change, step: Step): void {
  if (me.work === 'sending') return;
  const number = state.nextNumber;
  const kept = fault === 'a settlement checks the hold of now, not that of the claim' ? me : joined(number);
  step('joins again', {
    ...change({ ...kept, number, sends: true, epoch: null }),
    rows: [...state.rows, { number, expired: false }],
    nextNumber: number + 1,
  });
}

/** Any row that has expired is deleted with all that its instance held; also the row of a process that crashed. */
function expiries(state: State, name: Name, fault: Fault | null, change: Change, step: Step): void {
  const me = state[name];
  const used = [me.number, state[OTHER[name]].number];
  const expire = (number: number, after: Partial<State> = {}): void => {
    const held = state.holder === number;
    const isKept = fault === 'the batches of an expired instance are not released';
    const batches = state.batches.map((batch) =>
      batch.owner === number && !isKept ? { ...batch, owner: null } : batch,
    );
    step(`expires ${number}`, {
      ...after,
      deaths: state.deaths + (used.includes(number) ? 1 : 0),
      rows: state.rows.filter((row) => row.number !== number),
      ...(held ? { holder: null } : {}),
      batches,
    });
  };
  for (const { number, expired } of state.rows) {
    if (number === me.number) continue;
    // The row of a crashed process expires by itself.
    const isOver = used.includes(number) ? expired && state.deaths < DEATHS : true;
    if (!isOver) continue;
    if (fault === 'an instance is expired by what was read earlier') {
      if (me.saw === null) step(`sees that ${number} has expired`, change({ saw: number }));
    } else expire(number);
  }
  if (me.saw !== null && state.rows.some(({ number }) => number === me.saw)) expire(me.saw, change({ saw: null }));
}

describe('the holds of webhooks', () => {
  it('let one instance send at a time, in order, and lose nothing, in every order of steps', () => {
    const { found, states } = explore(model(null));
    assert.equal(found, null, found?.way.join('\n'));
    assert.ok(states > 1000, `only ${states} states`);
  });

  for (const fault of FAULTS) {
    it(`would go wrong if ${fault}`, () => {
      const { found } = explore(model(fault));
      assert.notEqual(found, null);
    });
  }
});
