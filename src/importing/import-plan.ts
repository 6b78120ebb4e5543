/** The resources that Sallyport makes of another sender's export: event types, customers, and endpoints with their webhooks. Pure. */

import type { Fields } from './export-reader.ts';
import type { EndpointHeaders } from './record-fields.ts';
import { cleanName, endpointName, sourceIdProblem } from './record-names.ts';

/** One item of the export. */
type Planned = {
  /** Its place in the export, such as `applications[0].endpoints[2]`. */
  readonly path: string;
  /** As people know it. */
  readonly name: string;
  /** Why it cannot be made; null if its export says nothing against it. */
  readonly problem: string | null;
  /** The parts that cannot be kept. */
  readonly lost: readonly string[];
};

export type PlannedEventType = Planned & { readonly body: Fields };

export type PlannedCustomer = Planned & {
  readonly externalId: string;
  readonly body: Fields;
  readonly endpoints: readonly PlannedEndpoint[];
};

export type PlannedEndpoint = Planned & {
  /** Its id at the other sender. The names of its endpoint and webhook end with it, which is how another run finds them. */
  readonly sourceId: string;
  /** The body without its customer. */
  readonly endpoint: Fields;
  /** The body without its customer and its endpoint. */
  readonly webhook: Fields;
  /** Whether its webhook may start: it was enabled, and nothing that its receiver checks is missing. */
  readonly mayStart: boolean;
};

export type Plan = { readonly eventTypes: readonly PlannedEventType[]; readonly customers: readonly PlannedCustomer[] };

export const WITHOUT_SECRET = 'has no secret: the receiver would refuse every delivery';

export function planOf(eventTypes: readonly PlannedEventType[], customers: readonly PlannedCustomer[]): Plan {
  return {
    eventTypes: withoutRepeats(eventTypes, ({ body }) => String(body.name)),
    customers: withoutRepeats(customers, ({ externalId }) => externalId),
  };
}

type FoundCustomer = {
  readonly path: string;
  /** Its name, if it has one. */
  readonly label: string | null;
  readonly externalId: string | null;
  /** The problem without an external id. */
  readonly withoutId: string;
  readonly metadata: Fields;
  readonly lost: readonly string[];
  readonly endpoints: readonly PlannedEndpoint[];
};

export function plannedCustomer(found: FoundCustomer): PlannedCustomer {
  const { path, label, externalId, withoutId, metadata, lost, endpoints } = found;
  const name = cleanName(label ?? externalId ?? '', path);
  return {
    path,
    name,
    externalId: externalId ?? '',
    problem: externalId === null ? withoutId : null,
    lost,
    body: { name, externalId, metadata },
    endpoints: withoutRepeats(endpoints, ({ sourceId }) => sourceId),
  };
}

type FoundEndpoint = {
  readonly path: string;
  readonly label: string;
  readonly id: string | null;
  /** Why it cannot be made, besides its id. */
  readonly problem: string | null;
  readonly lost: readonly string[];
  readonly url: string | null;
  readonly secret: string | null;
  readonly isEnabled: boolean;
  readonly headers: EndpointHeaders;
  /** The fields of its webhook, without name and format. */
  readonly webhook: Fields;
};

export function plannedEndpoint(found: FoundEndpoint): PlannedEndpoint {
  const { path, label, id, problem, lost, url, secret, isEnabled, headers, webhook } = found;
  const name = endpointName(label, id ?? path);
  return {
    path,
    name,
    sourceId: id ?? '',
    problem: sourceIdProblem(id) ?? problem,
    lost,
    // Its receiver did not have to prove anything to the other sender either. The person who imports it is responsible for it.
    endpoint: { name, url, secret, tokenChallenge: false, enabled: isEnabled, sendApiKey: false, ...headers.fields },
    // The bodies of the other senders are only the data.
    webhook: { name, format: 'cloudevents-binary', ...webhook },
    mayStart: isEnabled && headers.isComplete,
  };
}

/** Marks each item that has the same key as an earlier one. */
function withoutRepeats<Item extends Planned>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  const first = new Map<string, string>();
  return items.map((item) => {
    const key = keyOf(item);
    const earlier = first.get(key);
    if (earlier === undefined) {
      if (item.problem === null) first.set(key, item.path);
      return item;
    }
    return item.problem === null ? { ...item, problem: `repeats ${earlier}` } : item;
  });
}
