/** Measures contenders in turn, round after round, so that other load affects all of them alike. */
import type { Row } from '../report/result.ts';

export type Contender = {
  readonly name: string;
  /** One value for each figure. `round` -1 is a warm-up that is not recorded. */
  measure(round: number): Promise<Readonly<Record<string, number>>>;
};

export async function measureInRounds(contenders: readonly Contender[], rounds: number): Promise<Row[]> {
  const found = contenders.map(({ name }) => ({ name, values: new Map<string, number[]>() }));
  for (let round = -1; round < rounds; round += 1) {
    for (const [at, contender] of contenders.entries()) {
      const measured = await contender.measure(round);
      if (round >= 0) note(found[at]?.values, measured);
      process.stderr.write('.');
    }
  }
  process.stderr.write('\n');
  return found.map(({ name, values }) => ({ name, values: Object.fromEntries(values) }));
}

function note(values: Map<string, number[]> | undefined, measured: Readonly<Record<string, number>>): void {
  for (const [figure, value] of Object.entries(measured)) values?.set(figure, [...(values.get(figure) ?? []), value]);
}
