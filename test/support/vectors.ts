/** The known answers in test/vectors, computed without this project's code. They are published for tests of receivers. */
import { readFileSync } from 'node:fs';

export type DeliveryVector = {
  readonly name: string;
  readonly url: string;
  readonly secret: string;
  readonly keyHex: string;
  readonly bodyBase64: string;
  readonly date: string;
  readonly customHeaders: readonly { readonly name: string; readonly value: string }[];
  readonly contentSha256: string;
  readonly stringToSign: string;
  readonly authorization: string;
};

type ChallengeVector = {
  readonly name: string;
  readonly url: string;
  readonly secret: string;
  readonly token: string;
  readonly message: string;
  readonly signature: string;
};

/** `timestamp` is in epoch seconds, and `id` includes `msg_`. */
type StandardWebhookVector = {
  readonly secret: string;
  readonly id: string;
  readonly timestamp: number;
  readonly bodyBase64: string;
  readonly signature: string;
};

export type SigningVectors = {
  readonly delivery: readonly DeliveryVector[];
  readonly challenge: readonly ChallengeVector[];
  readonly standardWebhooks: readonly StandardWebhookVector[];
};

export type PgpVectorName = 'curve25519' | 'expired' | 'revoked' | 'rsa2048' | 'rsa4096' | 'sign-only' | 'weak-rsa1024';

const folder = new URL('../vectors/', import.meta.url);

export const signingVectors: SigningVectors = JSON.parse(readFileSync(new URL('signing.json', folder), 'utf8'));

/** A signature with Ed25519 (`v1a`). `privateKey` is the seed, `timestamp` is in epoch seconds. */
type Ed25519Vector = {
  readonly name: string;
  readonly privateKey: string;
  readonly publicKey: string;
  readonly id: string;
  readonly timestamp: number;
  readonly bodyBase64: string;
  readonly signature: string;
};

const ed25519File: { readonly messages: readonly Ed25519Vector[] } = JSON.parse(
  readFileSync(new URL('ed25519.json', folder), 'utf8'),
);

export const { messages: ed25519Vectors } = ed25519File;

/** Reads an armored public key. It is valid at `2026-11-21T05:00:00Z` unless its name says otherwise. */
export function pgpVector(name: PgpVectorName): string {
  return readFileSync(new URL(`pgp/${name}.public.asc`, folder), 'utf8');
}

/** A request to a receiver and its result. test/vectors/README.md describes the members. */
export type RequestVector = {
  readonly name: string;
  readonly url: string;
  readonly method: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly bodyBase64: string;
  readonly secrets?: readonly string[];
  readonly standardWebhooks?: true;
} & (TakenVector | AnsweredVector | RefusedVector);

type TakenVector = {
  readonly records: readonly HandedRecord[];
  readonly secretIndex: number;
  readonly answer?: undefined;
  readonly refused?: undefined;
};
type AnsweredVector = { readonly answer: string; readonly refused?: undefined };
type RefusedVector = { readonly refused: string; readonly status: number };

/** Some members of a record as a receiver passes it on. */
export type HandedRecord = { readonly messageId: string; readonly eventType: string; readonly data: unknown };

/** `now` is the receiver's clock; `privateKeys` are armored and keyed by the sender's name for the key. */
export type RequestVectors = {
  readonly now: string;
  readonly toleranceSeconds: number;
  readonly maxBytes: number;
  readonly secrets: readonly string[];
  readonly apiKey: string;
  readonly privateKeys: Readonly<Record<string, string>>;
  readonly requests: readonly RequestVector[];
};

export const requestVectors: RequestVectors = JSON.parse(readFileSync(new URL('requests.json', folder), 'utf8'));
