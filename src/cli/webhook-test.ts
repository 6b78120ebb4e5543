/** `sallyport webhook test`: one request to the endpoint now, and what came of it. */

import type { ErrorClass } from '../outbound/outcome.ts';
import { COMMAND_LINE } from '../resources/acting.ts';
import { OWN_SETTINGS } from '../webhooks/advice.ts';
import { viewAttempt } from '../webhooks/deliveries.ts';
import type { Command } from './command.ts';
import { OUTBOUND_SETTINGS, withData } from './open.ts';
import { printRecord } from './output.ts';

/** Failures that the settings of who sends have a part in. */
const REACHING: ReadonlySet<string> = new Set<ErrorClass>([
  ...(['dns', 'connect', 'timeout', 'tls_untrusted', 'egress_refused', 'proxy', 'internal'] as const),
]);

export const webhookTestCommand: Command = {
  name: 'webhook test',
  summary: 'Send a webhook.test record now and say what came of it',
  explanation:
    "Whether the webhook is started or not; its endpoint must be enabled. Fails (exit status 1) unless the receiver takes it.\nIt is sent by the settings of the command's own environment, which may not be those of the server.",
  operands: [{ name: 'id', description: "The webhook's id" }],
  settings: OUTBOUND_SETTINGS,
  json: true,
  run: (invocation) =>
    withData(invocation, async ({ services, store, clock, ids, transport }) => {
      const [{ createTestDelivery }, { createSend }, { createOauthTokens }] = await Promise.all([
        import('../delivery/test-delivery.ts'),
        import('../delivery/send.ts'),
        import('../delivery/oauth.ts'),
      ]);
      const send = createSend({ transport, oauth: createOauthTokens({ transport, clock }) });
      const test = createTestDelivery({ store, clock, ids, send, webhooks: services.webhooks });
      const attempt = viewAttempt(await test(invocation.operand('id'), COMMAND_LINE.actor));
      const { delivered, responseStatus, responseBody, errorClass, error, timings } = attempt;
      const advice = REACHING.has(errorClass ?? '') ? `${attempt.advice} ${OWN_SETTINGS}` : attempt.advice;
      const told = { delivered, responseStatus, responseBody: responseBody || null, errorClass, error, advice };
      await printRecord(invocation, invocation.json ? { ...attempt, advice } : { ...told, totalMs: timings.totalMs });
      return delivered ? 0 : 1;
    }),
};
