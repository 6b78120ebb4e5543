/** Records of Sallyport's own, which are part of its version and read-only: compared with the stored ones at every start. */
import { isDeepStrictEqual } from 'node:util';
import { ConstraintViolation } from '../store/port/errors.ts';

type Stored<Rec> = {
  all(): Promise<Rec[]>;
  replaceBuiltIn(records: readonly Rec[]): Promise<void>;
};

const ROUNDS = 10;

/**
 * Writes the built-in records of this version unless they exist. `current`: one of them, given the stored one with its id. If another
 * instance writes them at the same moment, it looks again.
 */
export async function installBuiltIns<
  Rec extends { readonly builtIn: boolean; readonly id: string },
  Own extends { readonly id: string },
>(stored: Stored<Rec>, own: readonly Own[], current: (record: Own, before: Rec | undefined) => Rec): Promise<void> {
  for (let round = 1; ; round += 1) {
    const installed = (await stored.all()).filter(({ builtIn }) => builtIn);
    const known = new Map(installed.map((record) => [record.id, record]));
    const records = own.map((record) => current(record, known.get(record.id)));
    if (isDeepStrictEqual(installed, records)) return;
    try {
      return await stored.replaceBuiltIn(records);
    } catch (error) {
      if (!(error instanceof ConstraintViolation) || round === ROUNDS) throw error;
    }
  }
}
