/** The store of a process that a test lets die, while another process goes on with the same database. */
import type { Store } from '../../src/store/port/store.ts';
import { deferred } from './deferred.ts';

type Mortal = {
  readonly store: Store;
  /** From now on nothing of the process comes through, and it takes nothing from the database, although a test may wake it. */
  dies(): void;
  /** Lets what the process waits for end, so that it can be stopped. */
  buried(): void;
};

export function mortalStore(living: Store): Mortal {
  const buried = deferred();
  let isDead = false;
  const { dispatch, settlements } = living;
  const whileAlive =
    <Asked extends unknown[], Answer>(verb: (...asked: Asked) => Promise<Answer>) =>
    async (...asked: Asked): Promise<Answer> => {
      if (isDead) await buried.promise;
      return verb(...asked);
    };
  const store: Store = {
    ...living,
    dispatch: {
      ...dispatch,
      appended: () => (isDead ? [] : dispatch.appended()),
      changed: whileAlive(dispatch.changed),
      positions: whileAlive(dispatch.positions),
      ends: whileAlive(dispatch.ends),
      dueBatches: whileAlive(dispatch.dueBatches),
      firstPending: whileAlive(dispatch.firstPending),
      waiting: whileAlive(dispatch.waiting),
      records: whileAlive(dispatch.records),
    },
    settlements: {
      ...settlements,
      settle: (settlement) => (isDead ? buried.promise : settlements.settle(settlement)),
    },
  };
  return {
    store,
    dies: () => {
      isDead = true;
    },
    buried: () => buried.resolve(),
  };
}
