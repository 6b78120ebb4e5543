/** The schema of `retry` (contract §5.9): a policy with a number of attempts, or the list of waits of a schedule. */
import { z } from 'zod';
import { ATTEMPTS_DEFAULT, ATTEMPTS_MAX } from '../domain/limits.ts';
import {
  RETRY_POLICIES,
  type RetrySettings,
  SCHEDULE_DELAY_MAX_SECONDS,
  SCHEDULE_DELAYS_MAX,
} from '../domain/retry.ts';

export const retryInput = z
  .strictObject({
    policy: z.enum(RETRY_POLICIES).default('exponential'),
    maxAttempts: z
      .int()
      .min(1)
      .max(ATTEMPTS_MAX)
      .optional()
      .meta({ default: ATTEMPTS_DEFAULT, description: 'With a schedule, one more than its delays: leave it out.' }),
    delaysSeconds: z
      .array(z.int().min(1).max(SCHEDULE_DELAY_MAX_SECONDS))
      .min(1)
      .max(SCHEDULE_DELAYS_MAX)
      .optional()
      .meta({ description: 'The waits of a schedule in order, in seconds. Required with the policy `schedule`.' }),
  })
  .superRefine(({ policy, maxAttempts, delaysSeconds }, context) => {
    const problem = (field: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (policy !== 'schedule') {
      if (delaysSeconds !== undefined) problem('delaysSeconds', `goes with the policy schedule, and it is ${policy}`);
    } else if (delaysSeconds === undefined) problem('delaysSeconds', 'is required with the policy schedule');
    else if (maxAttempts !== undefined && maxAttempts !== delaysSeconds.length + 1)
      problem(
        'maxAttempts',
        `is one more than the delays of a schedule, ${delaysSeconds.length + 1} here: leave it out`,
      );
  })
  .default({ policy: 'exponential', maxAttempts: ATTEMPTS_DEFAULT });
type RetryInput = z.output<typeof retryInput>;

export const retryView = z.object({
  policy: z.enum(RETRY_POLICIES),
  maxAttempts: z.int().optional().meta({ description: 'Absent with a schedule.' }),
  delaysSeconds: z.array(z.int()).optional().meta({ description: 'Only with a schedule.' }),
});

export function viewRetry({
  retryPolicy: policy,
  maxAttempts,
  retryDelaysSeconds,
}: RetrySettings): z.infer<typeof retryView> {
  return retryDelaysSeconds === null ? { policy, maxAttempts } : { policy, delaysSeconds: [...retryDelaysSeconds] };
}

export function retrySettings({ policy, maxAttempts, delaysSeconds }: RetryInput): RetrySettings {
  return policy === 'schedule' && delaysSeconds !== undefined
    ? { retryPolicy: policy, maxAttempts: delaysSeconds.length + 1, retryDelaysSeconds: delaysSeconds }
    : { retryPolicy: policy, maxAttempts: maxAttempts ?? ATTEMPTS_DEFAULT, retryDelaysSeconds: null };
}
