/** The receivers of `npm run demo:receivers`, as the demo sees them. */
import type { IncomingHttpHeaders } from 'node:http';

/** The set-up of a receiver. `folder`: for its files. */
export type Ground = {
  readonly folder: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  /** The secret of its endpoint, Base64 of 32 bytes. */
  readonly secret: string;
  /** The origin with which Sallyport introduces itself in a handshake. */
  readonly requestOrigin: string;
};

type Fields = Readonly<Record<string, unknown>>;

export type Receiving = {
  readonly url: string;
  /** The settings of the endpoint and of the webhook that make Sallyport send what this receiver expects. */
  readonly endpoint?: Fields;
  readonly webhook: Fields;
  /** Resolves with what the receiver says of the event, once it has verified it. Rejects with its words if it refuses or ends. */
  verified(eventId: string): Promise<string>;
  stop(): Promise<void>;
};

/** Someone else's receiver. */
export type OtherReceiver = {
  readonly name: string;
  readonly title: string;
  /** The package that has it, as in `npm svix`. */
  readonly package: string;
  /** The programs that no package of npm brings. */
  readonly programs: readonly string[];
  start(ground: Ground): Promise<Receiving>;
};

/** A request to a library that runs in the demo's process. */
export type LibraryRequest = { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string };
