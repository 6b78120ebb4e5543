/** The result of a test event: whether it arrived, the request and the response, and advice. */

import type { AttemptRecord } from '../../delivery/batch.ts';
import { type Html, html } from '../../http/html.ts';
import { adviceFor, type ErrorClass } from '../../outbound/outcome.ts';
import { attemptDetails } from '../deliveries/attempt.ts';
import { section } from '../parts/header.ts';
import { notice } from '../parts/notice.ts';
import { sentence } from '../parts/sentence.ts';
import { spanText, time } from '../parts/time.ts';

/** `url` is that of the endpoint. */
export function testSection(attempt: AttemptRecord, url: string): Html {
  const { errorClass, errorMessage, timings, startedAt } = attempt;
  const took = timings.totalMs === null ? '' : ` after ${spanText(timings.totalMs)}`;
  const verdict =
    errorClass === null
      ? notice({
          tone: 'positive',
          title: `It arrived${took}.`,
          text: 'The receiver took a webhook.test record. It stands in no log and took no offset.',
        })
      : notice({
          tone: 'negative',
          title: sentence(errorMessage ?? errorClass),
          text: adviceFor(errorClass as ErrorClass),
        });
  return section({
    id: 'test',
    title: 'Test event',
    lead: html`Sent ${time(startedAt)}.`,
    content: html`<div class="stack" role="status">${verdict}${attemptDetails(attempt, url)}</div>`,
  });
}
