/** The page of metrics: what `GET /metrics` tells, for those who write queries and alerts. */
import { METRICS_WEBHOOKS_MAX } from '../../src/kernel/limits/limits.ts';
import { COUNTERS, GAUGES, HISTOGRAMS } from '../../src/observe/metric-names.ts';

type Metric = {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  readonly buckets?: readonly number[];
};

type LabelsOf<Group extends Readonly<Record<string, { readonly labelNames: readonly string[] }>>> =
  Group[keyof Group]['labelNames'][number];

type Label = LabelsOf<typeof COUNTERS> | LabelsOf<typeof GAUGES> | LabelsOf<typeof HISTOGRAMS>;

/** What each may say. A metric with a label that is not here does not compile. */
const LABELS: Readonly<Record<Label, string>> = {
  class: 'the [error class](../send-webhooks.md#when-an-attempt-fails) of a failed attempt',
  kind: '`delivery` or `heartbeat`',
  method: 'of the request; `other` for one that is not known',
  name: "the webhook's",
  outcome:
    'of records: `delivered`, `retry`, `halve`, `release`, `dead`, `discarded`; of attempts: `delivered`, `failed`',
  reason: '`unauthorized`, `invalid_token`, `insufficient_scope`, `insufficient_permission`',
  result: '`issued`, or the [code](http-api.md#codes) of the refusal',
  route: 'the path with its `{parameters}`; `unknown` where there is none',
  state: 'of the webhook: `stopped`, `started`, `running`, `failing`, `failed`',
  status: 'of the answer',
  task: "housekeeping's",
  version: "Sallyport's",
  webhook: `the id of a webhook; \`other\` for all beyond the ${METRICS_WEBHOOKS_MAX} oldest`,
};

export function metricsPage(): string {
  return [
    '# Metrics\n',
    'What `GET /metrics` answers, in the text format of Prometheus. Made by `npm run reference`.',
    '[Monitoring](../operate.md#monitoring) says who may ask, and what is worth an alert.\n',
    'Beside these are those of the process, `process_…` and `nodejs_…`, as prom-client measures them in every program.\n',
    '## Counters\n',
    'They begin at 0 with the process.\n',
    table(Object.values(COUNTERS)),
    '## Gauges\n',
    table(Object.values(GAUGES)),
    '## Histograms\n',
    'In seconds; each is `…_bucket` with the label `le`, `…_sum` and `…_count`.\n',
    table(Object.values(HISTOGRAMS)),
    '## Labels\n',
    '| label | what it says |',
    '|---|---|',
    ...Object.entries(LABELS).map(([label, says]) => `| \`${label}\` | ${says} |`),
    '',
  ].join('\n');
}

function table(metrics: readonly Metric[]): string {
  const rows = metrics.map(({ name, help, labelNames, buckets }) => {
    const bounds = buckets === undefined ? '' : ` Buckets: ${buckets.join(', ')}.`;
    return `| \`${name}\` | ${labelNames.map((label) => `\`${label}\``).join(', ')} | ${help}${bounds} |`;
  });
  return ['| name | labels | |', '|---|---|---|', ...rows, ''].join('\n');
}
