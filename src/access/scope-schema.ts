/** Names of the API catalogue as requests give them. Whether there is such a one is checked against the catalogue. */
import { z } from 'zod';
import { SCOPE_NAME_LENGTH_MAX } from '../kernel/limits/limits.ts';

/** A name of a scope: `SCOPE_NAME` in two parts, since RE2 has no look-ahead. */
export const scopeName: z.ZodString = z.string().max(SCOPE_NAME_LENGTH_MAX).meta({
  pattern: '^[A-Za-z0-9._/-]+:[A-Za-z0-9._/-]+$',
  minLength: 3,
  maxLength: SCOPE_NAME_LENGTH_MAX,
});
