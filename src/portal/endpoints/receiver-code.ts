/** Code for receivers that verifies a delivery, in every language, with the event types that arrive. */
import { type EventType, matchingTypes } from '../../domain/event.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { typeModule } from '../../events/typescript.ts';
import { type AssetName, readAsset, receiverPackage } from '../../kernel/assets.ts';
import { isObject } from '../../kernel/validation.ts';
import { nodeFunctions, typedNodeFunctions } from './guide-text.ts';

type CodeExample = { readonly label: string; readonly code: string };

type Program = {
  readonly label: string;
  readonly asset: AssetName;
  readonly excerpt: (text: string) => string;
  /** Only with the package of the receiver, which it imports, or only without. Default: always. */
  readonly only?: 'with package' | 'without package';
};

const PROGRAMS: readonly Program[] = [
  { label: 'TypeScript', asset: 'receivers/javascript', excerpt: firstExample, only: 'with package' },
  {
    label: 'JavaScript',
    asset: 'receivers/javascript',
    excerpt: (text) => withoutTypes(firstExample(text)),
    only: 'with package',
  },
  { label: 'Node, no package', asset: 'hand-out', excerpt: nodeFunctions, only: 'with package' },
  { label: 'TypeScript', asset: 'hand-out', excerpt: typedNodeFunctions, only: 'without package' },
  { label: 'JavaScript', asset: 'hand-out', excerpt: nodeFunctions, only: 'without package' },
  { label: 'Python', asset: 'receivers/python', excerpt: markedPart },
  { label: 'Go', asset: 'receivers/go', excerpt: markedPart },
  { label: 'Java', asset: 'receivers/java', excerpt: markedPart },
  { label: 'C#', asset: 'receivers/csharp', excerpt: markedPart },
  { label: 'PHP', asset: 'receivers/php', excerpt: markedPart },
  { label: 'Ruby', asset: 'receivers/ruby', excerpt: markedPart },
];

let made: readonly (CodeExample & Pick<Program, 'only'>)[] | null = null;

/** A checkout may be without the package: then nothing that needs it is shown. */
export function hasReceiverPackage(): boolean {
  return receiverPackage() !== null;
}

/** `types`: the event types that arrive; none if they are not known. The programs are read at the first use. */
export function receiverCode(
  types: readonly Pick<EventType, 'name' | 'sample'>[] = [],
  hasPackage: boolean = hasReceiverPackage(),
): readonly CodeExample[] {
  made ??= PROGRAMS.map(({ asset, excerpt, ...program }) => ({ ...program, code: excerpt(readAsset(asset)) }));
  return made
    .filter(({ only }) => only !== (hasPackage ? 'without package' : 'with package'))
    .map(({ label, code }) => ({ label, code: withEvents(code, types) }));
}

/** Whole programs that print the events of one type. In TypeScript they have its types, as its page shows them. */
export function programsFor(eventType: EventType, hasPackage: boolean = hasReceiverPackage()): readonly CodeExample[] {
  const name = `'${eventType.name}'`;
  const example = firstExample(readAsset('receivers/javascript')).replace(
    EXAMPLE_LOOP,
    () =>
      `for (const { eventType, messageId, data } of records) {\n      if (eventType === ${name}) console.log(messageId, data);\n    }`,
  );
  const typed = example.replace(EVENTS_COMMENT, '').replace(EVENTS_TYPE, () => `${typeModule(eventType)}\n`);
  const ofPackage = [
    { label: 'TypeScript', code: typed },
    { label: 'JavaScript', code: withoutTypes(example) },
  ];
  return [...(hasPackage ? ofPackage : []), { label: 'Python', code: pythonProgram(eventType.name) }];
}

const EXAMPLE_LOOP = /for \(const \{ messageId, data \} of records\) console\.log\([^\n]*\);/;

/** With the program that is downloaded, as a module beside it. */
function pythonProgram(name: string): string {
  return `# Beside receiver.py, which reads the same environment.
import receiver


def handle(message_id, event_type, data):
    """Once it returns, the message counts as handled. If it raises, the sender tries again."""
    if event_type == "${name}":
        print(message_id, data, flush=True)


receiver.handle = handle
receiver.main()`;
}

/** The types that the webhooks get: only public ones if they belong to a customer. */
export function arrivingTypes(
  webhooks: readonly Pick<Webhook, 'customerId' | 'eventTypes'>[],
  types: readonly EventType[],
): readonly EventType[] {
  const got = new Set(
    webhooks.flatMap(({ customerId, eventTypes }) =>
      eventTypes
        .flatMap((pattern) => matchingTypes(pattern, types))
        .filter((type) => customerId === null || type.public)
        .map(({ name }) => name),
    ),
  );
  return types.filter(({ name }) => got.has(name));
}

/** The lines between `verify:begin` and `verify:end`, without their common indent. */
export function markedPart(text: string): string {
  const lines = text.split('\n');
  const begin = lines.findIndex((line) => line.includes('verify:begin'));
  const end = lines.findIndex((line) => line.includes('verify:end'));
  const part = lines.slice(begin + 1, end);
  const indents = part.filter((line) => line.trim() !== '').map((line) => /^[ \t]*/.exec(line)?.[0].length ?? 0);
  const indent = Math.min(...indents);
  return part
    .map((line) => line.slice(indent))
    .join('\n')
    .trim();
}

/** The first example of a documentation page: the one for `node:http`. */
export function firstExample(markdown: string): string {
  return /```ts\n([\s\S]*?)\n```/.exec(markdown)?.[1] ?? '';
}

/** The example in JavaScript. */
function withoutTypes(code: string): string {
  return code
    .replaceAll(/^import type .*\n/gm, '')
    .replace(EVENTS_COMMENT, '')
    .replaceAll(/^type .*\n\n?/gm, '')
    .replaceAll(/(createReceiver)<\w+>/g, '$1')
    .replaceAll(/\((\S+) as \w+\)/g, '$1');
}

const EVENTS_COMMENT = /\/\*\* The event types [^\n]*\n/;
const EVENTS_TYPE = /^type Events = .*\n/m;
/** The statement of the documentation's example for an order. */
const EXAMPLE_USE = /console\.log\(`\$\{messageId\}: order \$\{data\.orderId\}`\)/;
const TYPES_SHOWN = 5;

/** The example of the documentation with the event types that arrive. Without them it has no types. */
function withEvents(code: string, types: readonly Pick<EventType, 'name' | 'sample'>[]): string {
  const used = code.replace(EXAMPLE_USE, 'console.log(messageId, data)');
  if (types.length === 0)
    return used
      .replace(EVENTS_COMMENT, '')
      .replace(/^type Events = \{.*\n\n?/m, '')
      .replace('createReceiver<Events>', 'createReceiver');
  const members = types
    .slice(0, TYPES_SHOWN)
    .map(
      ({ name, sample }) =>
        `  ${JSON.stringify(name).replaceAll('"', "'")}: ${sample === null ? 'unknown' : typeOf(sample)};\n`,
    );
  const said = types.length > TYPES_SHOWN ? 'Some of the event types that arrive' : 'The event types that arrive';
  return used
    .replace(EVENTS_COMMENT, `/** ${said}, and their data. */\n`)
    .replace(EVENTS_TYPE, () => `type Events = {\n${members.join('')}};\n`);
}

/** The type of a sample's value. */
function typeOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'unknown[]' : `${typeOf(value[0])}[]`;
  if (isObject(value)) {
    const members = Object.entries(value).map(
      ([name, of]) => `${IDENTIFIER.test(name) ? name : JSON.stringify(name)}: ${typeOf(of)}`,
    );
    return members.length === 0 ? 'Record<string, unknown>' : `{ ${members.join('; ')} }`;
  }
  return value === null ? 'unknown' : typeof value;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
