/** The outcome of one request to a receiver, from a closed list, and the advice for each cause of failure. */

/** Bytes of a response that are read and that are stored (contract §5.12). */
export const RESPONSE_READ_BYTES: number = 64 * 1024;

export const RESPONSE_KEPT_BYTES: number = 4 * 1024;

export type ErrorClass =
  | 'dns'
  | 'connect'
  | 'tls_untrusted'
  | 'tls_expired'
  | 'tls_wrong_host'
  | 'tls'
  | 'timeout'
  | 'egress_refused'
  | 'reset'
  | 'response_too_large'
  | 'malformed_response'
  | 'proxy'
  | 'oauth_token'
  | 'encryption'
  | 'http_status'
  | 'internal';

/** The cause of a failure, by which failures are grouped: the status of the answer, for example `503`, or the error class. */
export function failureCause<Class extends string | null>(errorClass: Class, status: number | null): Class | string {
  return errorClass === 'http_status' ? String(status) : errorClass;
}

/**
 * How long each step took, in whole milliseconds; null where the step was not reached or not needed: a kept-alive
 * connection has no `dnsMs`, `connectMs` and `tlsMs`, an IP literal no `dnsMs`. `connectMs` is TCP, with a proxy until its
 * tunnel is open; `firstByteMs` runs from the request being written to the head of the answer; `totalMs` from
 * the call to its end, waiting for a free connection included.
 */
export type Timings = {
  readonly dnsMs: number | null;
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  readonly firstByteMs: number | null;
  readonly totalMs: number | null;
};

/** Header names are in lower case, repeated ones joined by ", "; the body is as sent, never decompressed. */
export type ReceiverAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** At most `RESPONSE_READ_BYTES`. */
  readonly body: Uint8Array;
  /** The body went on beyond `body`: at the bound, or where the connection failed. */
  readonly truncated: boolean;
  /** How it violates HTTP, or why its rest could not be read, as clauses. The status counts all the same. */
  readonly problems?: readonly string[];
};

/**
 * `ok` means delivered: a 2xx status arrived, with its body too where `headDecides` was not asked for. Any other status is a failure of
 * class `http_status` with the answer. Other failures carry the part of the answer that had arrived, or null.
 */
export type Outcome =
  | { readonly ok: true; readonly answer: ReceiverAnswer; readonly timings: Timings }
  | {
      readonly ok: false;
      readonly errorClass: ErrorClass;
      readonly message: string;
      readonly advice: string;
      readonly answer: ReceiverAnswer | null;
      readonly timings: Timings;
    };

export type Failure = Extract<Outcome, { ok: false }>;

/** No step was reached: the timings of a failure before anything was sent. */
export const NO_TIMINGS: Timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: null };

/** A failed outcome; `answer` and `timings` default to none. */
export function failure(
  errorClass: ErrorClass,
  message: string,
  { answer = null, timings = NO_TIMINGS }: { readonly answer?: ReceiverAnswer | null; readonly timings?: Timings } = {},
): Failure {
  return {
    ok: false,
    errorClass,
    message: keptText(message),
    advice: adviceFor(errorClass, answer?.status, message),
    answer,
    timings,
  };
}

/** A text of someone else as both databases keep it. */
function keptText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/**
 * Returns advice on what to check or change. Everyone may read it: it names no setting, log or machine of the operator. `status` is that of
 * the answer, for `http_status`; `message` is the failure's, whose end has the code of `tls_untrusted`.
 */
export function adviceFor(errorClass: ErrorClass, status?: number | null, message?: string | null): string {
  if (errorClass === 'tls_untrusted') return untrustedAdvice(message ?? '');
  if (errorClass !== 'http_status' || status === undefined || status === null) return ADVICE[errorClass];
  return STATUS_ADVICE[status] ?? STATUS_ADVICE[`${Math.floor(status / 100)}xx`] ?? ADVICE.http_status;
}

/** The advice for the owner of an endpoint. The operator's own may need a setting or the log of Sallyport. */
export function adviceForOwner(
  customerId: string | null,
  errorClass: ErrorClass,
  status?: number | null,
  message?: string | null,
): string {
  const advice = adviceFor(errorClass, status, message);
  const setting = customerId === null ? SETTINGS[errorClass] : undefined;
  return setting === undefined ? advice : `${advice} ${setting}`;
}

const SETTINGS: Readonly<Partial<Record<ErrorClass, string>>> = {
  tls_untrusted: 'SALLYPORT_CA_FILE has the authorities that are trusted here.',
  egress_refused: 'To allow a private one, add it to SALLYPORT_EGRESS_ALLOW and restart.',
  proxy: 'Check that it runs and allows CONNECT to this address and port. SALLYPORT_EGRESS_PROXY names it.',
  internal: "Look into the service's log.",
};

/** The status in the message of an `http_status` failure ("the receiver answered 503"), or null. */
export function statusInMessage(message: string | null): number | null {
  const [, status] = /\banswered ([1-5]\d\d)\b/.exec(message ?? '') ?? [];
  return status === undefined ? null : Number(status);
}

/** The same for a failure of which only the message is kept, without the status. */
export function adviceForMessage(customerId: string | null, errorClass: string, message: string | null): string {
  return adviceForOwner(customerId, errorClass as ErrorClass, statusInMessage(message), message);
}

const CREDENTIALS =
  'The receiver rejects the credentials. Compare the secret and the API key of the endpoint with those of the receiver.';

const ADVICE: Readonly<Record<ErrorClass, string>> = {
  dns: 'Check the host name in the URL, and that its name servers answer.',
  connect:
    'Check that the receiver runs, listens on this port, and that firewalls between here and there let it through.',
  tls_untrusted:
    'Have the receiver send its whole certificate chain, or use a certificate of an authority that is trusted.',
  tls_expired: "Renew the receiver's certificate, and check the clocks of both machines.",
  tls_wrong_host: 'Use a host name that the certificate names, or have a certificate issued for this one.',
  tls: 'Check that the receiver speaks TLS 1.2 or newer, and whether it asks for a client certificate.',
  timeout: 'Have the receiver answer first and work afterwards, or raise the time-out of the webhook.',
  egress_refused: 'Use an address that can be reached from the internet.',
  reset: "Look into the receiver's log: it, or something before it, closed the connection before it had answered.",
  response_too_large: 'Have the receiver answer with fewer and shorter headers, and with a short body.',
  malformed_response:
    'Check that the port speaks HTTP/1.1 over TLS, and that nothing in between rewrites the answer or sends ' +
    'interim answers (1xx) without end.',
  proxy: 'The proxy for outgoing requests did not lead there. The receiver was not at fault.',
  oauth_token: "Check token URL, client id, client secret and scopes of the endpoint against the token server's log.",
  encryption: "Check the webhook's encryption key: it must exist, be unexpired and be able to encrypt.",
  http_status: "Look into the receiver's log for the reason. Redirects are not followed.",
  internal: 'The receiver was not at fault, and the attempt does not count.',
};

export const ERROR_CLASSES = Object.keys(ADVICE) as readonly ErrorClass[];

/** By OpenSSL's reason why a certificate is not trusted. Never advises something that is already done. */
const UNTRUSTED_ADVICE: readonly (readonly [codes: RegExp, advice: string])[] = [
  [
    /^DEPTH_ZERO_SELF_SIGNED_CERT$/,
    'The receiver signed this certificate itself. Have one issued by an authority that is trusted.',
  ],
  [/^SELF_SIGNED_CERT_IN_CHAIN$/, 'The receiver sends its whole chain, and none of its authorities is trusted.'],
  [
    /^CERT_SIGNATURE_FAILURE$/,
    'A trusted authority has the same name and another key than the one that issued the certificate.',
  ],
  [/^UNABLE_TO_/, ADVICE.tls_untrusted],
];

const UNUSABLE =
  "Have the receiver's certificate and those of its authorities issued again: one of them does not meet today's " +
  'rules, for example with a short key, or was revoked.';

function untrustedAdvice(message: string): string {
  const [, code] = /\((\w+)\)$/.exec(message) ?? [];
  if (code === undefined) return ADVICE.tls_untrusted;
  return UNTRUSTED_ADVICE.find(([codes]) => codes.test(code))?.[1] ?? UNUSABLE;
}

const GATEWAY =
  "Check that the receiver is up. Look into the receiver's log, and into the log of a proxy that answers for it.";

/** Advice by status. `4xx` is for the statuses of that class that have no entry of their own. */
const STATUS_ADVICE: Readonly<Record<string, string>> = {
  '3xx': "Redirects are not followed. Set the endpoint's URL to the address that the redirect leads to.",
  401: CREDENTIALS,
  403: CREDENTIALS,
  404: "Check the path of the endpoint's URL: the receiver has nothing there.",
  405: "Check the path of the endpoint's URL: the receiver does not accept POST there.",
  408: 'Check that the receiver reads the whole request, and how long it and any proxy wait for it.',
  410: "The receiver has permanently left this address. Set the endpoint's new URL, then start the webhook again.",
  413: "Raise the receiver's limit for request bodies, or lower maxBatchRecords of the webhook.",
  415: 'Check that the receiver accepts application/json, and compressed or encrypted bodies if they are switched on.',
  429: 'Set maxRecordsPerSecond of the webhook to a rate that the receiver allows.',
  '4xx': "Compare the payload with what the receiver expects, and look into the receiver's log for the reason.",
  502: GATEWAY,
  503: GATEWAY,
  504: GATEWAY,
  '5xx': "Look into the receiver's log for the error at the time of the attempt.",
};
