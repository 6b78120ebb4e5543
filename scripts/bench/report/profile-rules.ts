/** The purpose of a function of the running service: a table each for the event loop and for its threads. */

/** A function on the stack. `url` is a path in the project, `node:…` or `wasm:…`; empty for the engine's and Node's own native code. */
export type Frame = { readonly name: string; readonly url: string };

export type Rule = {
  /** Null: the caller's purpose. */
  readonly what: string | null;
  readonly url: RegExp;
  readonly name?: RegExp;
  /** The `url` of the function that called it. */
  readonly caller?: RegExp;
};

/** Functions without a rule. */
export const REST = 'the rest';

/**
 * By the innermost function that is for something itself. `stack` begins with the function that ran; of the rules the first that fits
 * counts.
 */
export function purposeOf(stack: readonly Frame[], rules: readonly Rule[]): string {
  for (const [at, { name, url }] of stack.entries()) {
    const caller = stack[at + 1]?.url ?? '';
    const rule = rules.find(
      (one) => one.url.test(url) && (one.name?.test(name) ?? true) && (one.caller?.test(caller) ?? true),
    );
    if (rule === undefined) return REST;
    if (rule.what !== null) return rule.what;
  }
  return REST;
}

const NATIVE = /^$/;
const GARBAGE: Rule = { what: 'garbage collection', url: NATIVE, name: /^\(garbage collector\)$/ };
/** Outside of every function. */
const ENGINE = { url: NATIVE, name: /^(\(program\)|runMicrotasks)$/ };
const CALLERS: readonly Rule[] = [
  { what: null, url: NATIVE },
  {
    what: null,
    url: /^node:(buffer|fs|url|zlib|internal\/(buffer|encoding|errors|event_target|perf\/.+|url|util(\/.+)?|validators))$/,
  },
];
const MESSAGES = /^(node:internal\/(worker|per_context\/messageport))/;

const THREAD_WRITER = /^src\/store\/sqlite\/driver\/thread-writer\.ts$/;

export const LOOP_RULES: readonly Rule[] = [
  GARBAGE,
  // Node's native code reads, decrypts and parses there.
  { what: 'the engine, and reading from sockets', ...ENGINE },
  { what: 'writing to sockets, TLS', url: NATIVE, caller: /^node:internal\/stream_base_commons$/ },
  ...CALLERS,
  { what: 'handing statements to the writing thread', url: MESSAGES },
  {
    what: 'handing statements to the writing thread',
    url: THREAD_WRITER,
  },
  { what: 'hashes and signatures', url: /^(node:(internal\/)?crypto(\/|$)|src\/wire\/web-hash\.ts$)/ },
  {
    what: 'hashes and signatures',
    url: /^src\/wire\/payload\.ts$/,
    name: /^(signDelivery|signingKey|contentHeaders|standardWebhookHeaders|sha256Base64|hmacSha256Base64)$/,
  },
  { what: "Node's http, net, streams and timers", url: /^node:/ },
  { what: 'metrics and log', url: /^node_modules\/(prom-client|pino[^/]*|sonic-boom)\// },
  { what: 'metrics and log', url: /^src\/observe\// },
  { what: null, url: /^(node_modules\/|src\/(kernel\/(ids|secret)|wire\/bytes)\.ts$)/ },
  {
    what: 'reading from SQLite',
    url: /^src\/store\/sqlite\/driver\/sqlite\.ts$/,
    name: /^(get|all|prepareRead|begin|end)$/,
  },
  { what: 'statements and rows', url: /^src\/store\// },
  { what: 'delivery: claim, judge, settle', url: /^src\/(delivery\/|domain\/(batch|judge|retry|webhook-states)\.ts$)/ },
  { what: "the envelope's and the signature's text", url: /^src\/wire\// },
  { what: 'outbound: connections and attempts', url: /^src\/outbound\// },
  { what: 'http: routing, bodies, replies', url: /^src\/http\// },
  {
    what: 'the gate and tokens',
    url: /^src\/(access\/|domain\/(application|catalogue|credential|path|throttle|user)\.ts$)/,
  },
  { what: null, url: /^src\/domain\// },
];

/** The thread does for large bodies the work that the event loop does for small ones. */
export const LARGE_BODIES_RULES: readonly Rule[] = [
  { what: 'the engine', ...ENGINE },
  { what: "the event loop's messages", url: MESSAGES },
  ...LOOP_RULES,
];

/** SQLite itself is native, so that its work is that of the function which asked for it. */
export const WRITER_RULES: readonly Rule[] = [
  GARBAGE,
  { what: 'the engine', ...ENGINE },
  { what: "the event loop's messages", url: MESSAGES },
  { what: "the event loop's messages", url: THREAD_WRITER },
  ...CALLERS,
  // What begins and commits a transaction has no name; the thread stands still in it until the disk has answered.
  { what: 'commit, with its fsync', url: /^src\/store\/sqlite\/driver\/writer\.ts$/, name: /^$/ },
  { what: 'statements', url: /^src\/store\/sqlite\/driver\/writer\.ts$/ },
  { what: 'copying the log into the file', url: /^src\/store\/sqlite\/driver\/thread\.ts$/, name: /^checkpoint$/ },
  { what: "the event loop's messages", url: /^src\/store\/sqlite\/driver\/thread\.ts$/ },
  { what: null, url: /^(node_modules\/|src\/)/ },
];
