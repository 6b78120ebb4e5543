/**
 * A model of how instances share a webhook: leases, epochs, claims, settlements, pauses, crashes and hand-overs, in every order in which
 * two instances can take their steps. The webhook is ordered and has two records.
 *
 * Each step is one transaction, or one action of one process between two of them. A pause needs no step of its own: an instance may take no
 * step for as long as it likes. The statements that the steps stand for are in store/postgres/instances.ts and store/postgres/store.ts.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explore, type Model } from '../support/explorer.ts';

/** What an implementation could get wrong. Each must be found. */
const FAULTS = [
  'a claim does not check the lease',
  'a settlement does not check who leased the batch',
  'an instance does not look at its lease before it sends',
  'an instance is expired by what was read earlier',
  'the batches of an expired instance are not released',
  'a webhook is given back while its request is under way',
  'an instance takes a webhook after it was expired',
  'a renewal after the expiry finds nothing wrong',
] as const;
type Fault = (typeof FAULTS)[number];

const RECORDS = 2;
/** How often an instance crashes or is expired; how often one gives the webhook back, or sends in vain. */
const DEATHS = 1;
const EPOCHS_GIVEN_BACK = 2;
const ATTEMPTS_IN_VAIN = 1;

type Name = 'A' | 'B';
type Process = {
  /** The number under which it joined; a crash or an expiry ends it. */
  readonly number: number;
  /** Whether its lease runs by its own clock. It ends there before it ends in the database. */
  readonly sends: boolean;
  /** The epoch in which it holds the webhook. */
  readonly epoch: number | null;
  readonly work: 'none' | 'claimed' | 'sending' | 'sent';
  readonly record: number;
  readonly attempt: number;
  /** An expired instance that it saw, and may expire later (only with a fault). */
  readonly saw: number | null;
};

type State = {
  readonly A: Process;
  readonly B: Process;
  /** Rows of instances: whether they have expired. */
  readonly rows: readonly { readonly number: number; readonly expired: boolean }[];
  readonly holder: number | null;
  readonly epoch: number;
  /** The first record that is not settled, and its batch. */
  readonly cursor: number;
  readonly batch: { readonly owner: number | null; readonly attempt: number };
  readonly deaths: number;
  readonly nextNumber: number;
  /** Records in the order in which the receiver first got them. */
  readonly received: readonly number[];
  /** An instance began to send for a webhook that it no longer held. */
  readonly isAstray: boolean;
};

const OTHER = { A: 'B', B: 'A' } as const;

function joined(number: number): Process {
  return { number, sends: true, epoch: null, work: 'none', record: 0, attempt: 0, saw: null };
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
  cursor: 0,
  batch: { owner: null, attempt: 0 },
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
    isDone: ({ cursor }) => cursor === RECORDS,
  };
}

function problem({ A, B, received, cursor, isAstray }: State): string | null {
  if (isAstray) return 'an instance sends for a webhook that it no longer holds';
  if (received.some((record, at) => record !== at)) return 'a record overtook an earlier one';
  if (received.length < cursor) return 'a record counts as delivered that the receiver never got';
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
  const holds =
    fault === 'a claim does not check the lease' || (state.holder === me.number && state.epoch === me.epoch);
  const isLeasedHere = state.batch.owner === me.number && state.batch.attempt === me.attempt;

  if (me.epoch === null && state.holder === null && state.cursor < RECORDS) {
    // The reference to the instance's row refuses a number that was deleted.
    if (row !== undefined || fault === 'an instance takes a webhook after it was expired')
      step('takes', { ...change({ epoch: state.epoch + 1 }), holder: me.number, epoch: state.epoch + 1 });
  }
  if (me.epoch !== null && me.work === 'none' && state.cursor < RECORDS && state.batch.owner === null) {
    const attempt = state.batch.attempt + 1;
    if (holds)
      step('claims', {
        ...change({ work: 'claimed', record: state.cursor, attempt }),
        batch: { owner: me.number, attempt },
      });
    else step('claims in vain', change({ epoch: null }));
  }
  if (me.work === 'claimed') {
    if (me.sends || fault === 'an instance does not look at its lease before it sends')
      step('looks at its lease', { ...change({ work: 'sending' }), isAstray: state.holder !== me.number });
    else step('does not send', change({ work: 'sent' }));
  }
  if (me.work === 'sending') {
    const isFirst = !state.received.includes(me.record);
    step('sends', {
      ...change({ work: 'sent' }),
      received: isFirst ? [...state.received, me.record] : state.received,
    });
  }
  if (me.work === 'sent') {
    const isMine = isLeasedHere && holds && me.record === state.cursor;
    if (isMine || fault === 'a settlement does not check who leased the batch') {
      const next = { ...change({ work: 'none' }), batch: { owner: null, attempt: 0 } };
      // A job that was not sent is released, and a request may fail although the receiver got it.
      if (state.received.includes(me.record)) step('settles', { ...next, cursor: state.cursor + 1 });
      else step('releases', { ...next, batch: { owner: null, attempt: me.attempt - 1 } });
      if (me.attempt <= ATTEMPTS_IN_VAIN) step('fails', { ...next, batch: { owner: null, attempt: me.attempt } });
    } else step('settles in vain', change({ work: 'none', epoch: null }));
  }
  const isIdle = me.work === 'none' || fault === 'a webhook is given back while its request is under way';
  if (me.epoch === null && state.holder === me.number && me.sends)
    step('reads its epoch', change({ epoch: state.epoch }));
  if (me.epoch !== null && isIdle && state.holder === me.number && state.epoch <= EPOCHS_GIVEN_BACK)
    step('gives back', { ...change({ epoch: null }), holder: null, batch: { ...state.batch, owner: null } });

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
    else rejoin(state, me, change, step);
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

type Step = (what: string, next: Partial<State>) => void;

/** It was expired. Requests under way end, and what it held is forgotten. */
function rejoin(state: State, me: Process, change: (process: Partial<Process>) => Partial<State>, step: Step): void {
  if (me.work === 'sending') return;
  const number = state.nextNumber;
  step('joins again', {
    ...change(joined(number)),
    rows: [...state.rows, { number, expired: false }],
    nextNumber: number + 1,
  });
}

/** Any row that has expired is deleted with all that its instance held; also the row of a process that crashed. */
function expiries(
  state: State,
  name: Name,
  fault: Fault | null,
  change: (process: Partial<Process>) => Partial<State>,
  step: Step,
): void {
  const me = state[name];
  const used = [me.number, state[OTHER[name]].number];
  const expire = (number: number, after: Partial<State> = {}): void => {
    const held = state.holder === number;
    const isReleased = state.batch.owner === number && fault !== 'the batches of an expired instance are not released';
    step(`expires ${number}`, {
      ...after,
      deaths: state.deaths + (used.includes(number) ? 1 : 0),
      rows: state.rows.filter((row) => row.number !== number),
      ...(held ? { holder: null } : {}),
      ...(isReleased ? { batch: { ...state.batch, owner: null } } : {}),
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

describe('the leases of webhooks', () => {
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
