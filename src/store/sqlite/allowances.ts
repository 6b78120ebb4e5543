/** The allowances of customers in the memory of the one process that has the database for itself. */
import { type Allowance, allowanceAt, giveBackTo, THOUSANDTHS, takeFrom } from '../../domain/allowance.ts';
import type { AllowanceStore } from '../port/usage.ts';

/** Allowances in memory, about 100 bytes each, before full ones are dropped. Allowances that are not full fill up within a second. */
const ALLOWANCES_REMEMBERED = 10_000;

export function createMemoryAllowances(): AllowanceStore {
  let known = new Map<string, Allowance & { readonly perSecond: number }>();
  /** A full bucket is as good as none. */
  const forgetFull = (now: number): void => {
    if (known.size < ALLOWANCES_REMEMBERED) return;
    known = new Map(
      [...known].filter(
        ([, allowance]) =>
          allowanceAt(allowance, allowance.perSecond, now).thousandths < allowance.perSecond * THOUSANDTHS,
      ),
    );
  };
  return {
    take: async (wanted, now) => {
      const taken = wanted.map((one) => ({ one, result: takeFrom(known.get(one.customerId) ?? null, one, now) }));
      for (const { one, result } of taken)
        if (!result.ok) return { ok: false, customerId: one.customerId, waitMs: result.waitMs };
      forgetFull(now);
      for (const { one, result } of taken)
        if (result.ok) known.set(one.customerId, { ...result.after, perSecond: one.perSecond });
      return { ok: true };
    },
    giveBack: async (wanted, now) => {
      for (const one of wanted) {
        const allowance = known.get(one.customerId);
        // Without an entry it is full.
        if (allowance !== undefined)
          known.set(one.customerId, { ...giveBackTo(allowance, one, now), perSecond: one.perSecond });
      }
    },
  };
}
