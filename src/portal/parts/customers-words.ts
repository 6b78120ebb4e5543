/** Refusals as the people of a customer understand them, who know nothing of a database. */
import { Refusal, type Repeat } from '../../kernel/refusal.ts';

/** While the database is away, it says what that means for a reader of this customer. Null: the operator, who reads all of it. */
export function toldTo(customerId: string | null, refusal: Refusal): Refusal {
  const { code, repeat, headers } = refusal;
  if (customerId === null || code !== 'unavailable' || repeat === null) return refusal;
  return new Refusal(code, TEXTS[repeat], { repeat, headers });
}

const TEXTS: Readonly<Record<Repeat, string>> = {
  soon: 'the service is busy',
  'once fixed': 'the service cannot store anything at the moment',
  'after a look': 'the service did not say whether your change was kept: look at it before you repeat it',
};
