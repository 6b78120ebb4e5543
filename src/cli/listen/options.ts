/** The options of `sallyport listen`: how to verify deliveries, and how to answer them. */

import { randomBytes } from 'node:crypto';
import { PORT_MAX } from '../../config/values.ts';
import type { SignatureTemplate } from '../../domain/webhook.ts';
import { validate } from '../../kernel/validation.ts';
import { ambiguityOf } from '../../outbound/plain-url.ts';
import type { VerifyOptions } from '../../receiver/index.ts';
import { signatureInput, signatureOf } from '../../webhooks/signature-schema.ts';
import { decryptBinary } from '../../wire/pgp-decryption.ts';
import { publicKeyWebhooks } from '../../wire/public-key-verification.ts';
import { givenSecret } from '../../wire/signature.ts';
import { equalText } from '../../wire/web-hash.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../errors.ts';
import { readFileOrInput, readJsonObject, readSecretText } from '../input.ts';
import type { AnswerPlan } from './answer.ts';
import { LISTEN_DELAY_MAX_MS } from './limits.ts';

const DEFAULT_FAILURE = 500;

/** Throws a `UsageError` for options that contradict each other. */
export function readPlan(invocation: Invocation): AnswerPlan {
  const wrong = (problem: string): UsageError => new UsageError(problem, invocation.command.name);
  const status = invocation.integer('status');
  const failFirst = invocation.integer('fail-first');
  const port = invocation.integer('port') ?? 0;
  const delayMs = invocation.integer('delay') ?? 0;
  const reset = invocation.given('reset');
  if (reset && status !== undefined) throw wrong('--reset cannot be used with --status');
  if (status !== undefined && (status < 200 || status > 599)) throw wrong('--status must be 200 to 599');
  if (port > PORT_MAX) throw wrong(`--port must be at most ${PORT_MAX}`);
  if (delayMs > LISTEN_DELAY_MAX_MS) throw wrong(`--delay must be at most ${LISTEN_DELAY_MAX_MS}`);
  const failure = reset ? 'reset' : { status: status ?? DEFAULT_FAILURE };
  return {
    failure: reset || status !== undefined || failFirst !== undefined ? failure : null,
    failFirst: failFirst ?? null,
    delayMs,
    forward: readForward(invocation),
  };
}

function readForward(invocation: Invocation): URL | null {
  const text = invocation.text('forward');
  if (text === undefined) return null;
  const url = URL.parse(text);
  const problem =
    url !== null && /^https?:$/.test(url.protocol) ? ambiguityOf(text, url) : 'must be an http: or https: URL';
  if (url === null || problem !== null) throw new UsageError(`--forward ${problem}`, invocation.command.name);
  return url;
}

export type ListenChecks = Omit<VerifyOptions, 'secrets' | 'standardWebhooks'> & {
  /** Without `whsec_`. */
  readonly secrets: readonly string[];
  readonly publicKeys: readonly string[];
  /** The template of the webhook, beside the presets. */
  readonly signature: SignatureTemplate | null;
};

/** `made`: the new secret and API key if no secret was given. */
export type ListenVerification = {
  readonly verification: ListenChecks;
  readonly made: { readonly secret: string; readonly apiKey: string } | null;
};

export async function readVerification(invocation: Invocation): Promise<ListenVerification> {
  const given: string[] = [];
  for (const secret of invocation.texts('secret')) given.push(await readSecretText(invocation, 'secret', secret));
  const apiKeys = invocation.texts('api-key');
  const secrets = given.map(givenSecret);
  if (secrets.includes(null))
    throw new UsageError('--secret begins with whsec_ but is not Base64 after that', invocation.command.name);
  if (given.includes('')) throw new UsageError('--secret is empty', invocation.command.name);
  const others = { ...(await readOthers(invocation)), ...(await readDecryption(invocation)) };
  if (given.length > 0) {
    const verification = { secrets: secrets as string[], ...(apiKeys.length > 0 && { apiKey: apiKeys }), ...others };
    return { verification, made: null };
  }
  const made = { secret: randomBytes(32).toString('base64'), apiKey: apiKeys[0] ?? randomBytes(16).toString('hex') };
  const apiKey = apiKeys.length > 0 ? apiKeys : made.apiKey;
  return { verification: { secrets: [made.secret], apiKey, ...others }, made };
}

type Others = Pick<ListenChecks, 'publicKeys' | 'signature' | 'bearer' | 'basic'>;

/** Reads the credentials of the sender besides the secret: public keys, the template of a signature, a bearer token or a password. */
async function readOthers(invocation: Invocation): Promise<Others> {
  const publicKeys = invocation.texts('public-key');
  try {
    if (publicKeys.length > 0) publicKeyWebhooks(publicKeys);
  } catch (error) {
    throw new UsageError(`--public-key: ${(error as Error).message}`, invocation.command.name);
  }
  const template = await readJsonObject(invocation, 'signature');
  const signature = template === undefined ? null : signatureOf(validate(signatureInput, template));
  const token = await readSecret(invocation, 'bearer');
  const pair = await readSecret(invocation, 'basic');
  if (pair?.includes(':') === false) throw new UsageError('--basic must be <user>:<password>', invocation.command.name);
  return {
    publicKeys,
    signature,
    ...(token !== undefined && { bearer: (came) => equalText(came, token) }),
    ...(pair !== undefined && { basic: (user, password) => equalText(`${user}:${password}`, pair) }),
  };
}

async function readSecret(invocation: Invocation, name: 'bearer' | 'basic'): Promise<string | undefined> {
  const given = invocation.text(name);
  return given === undefined ? undefined : readSecretText(invocation, name, given);
}

const UNPROTECTED = 'Warning: the PGP message has no integrity protection, so changes to it cannot be detected.\n';

/** The same key for every key name. */
async function readDecryption(invocation: Invocation): Promise<Pick<VerifyOptions, 'decrypt'>> {
  const file = invocation.text('pgp-key');
  const given = invocation.text('pgp-passphrase');
  if (file === undefined) {
    if (invocation.given('pgp-allow-unprotected'))
      throw new UsageError('--pgp-allow-unprotected requires --pgp-key', invocation.command.name);
    if (given === undefined) return {};
    throw new UsageError('--pgp-passphrase requires --pgp-key', invocation.command.name);
  }
  const privateKey = await readFileOrInput(invocation, file);
  const passphrase = given === undefined ? undefined : await readSecretText(invocation, 'pgp-passphrase', given);
  const allowUnprotected = invocation.given('pgp-allow-unprotected');
  const decrypt: VerifyOptions['decrypt'] = async (bytes) => {
    const decrypted = await decryptBinary(bytes, privateKey, passphrase, { allowUnprotected });
    if (decrypted.ok && !decrypted.isProtected) await invocation.terminal.err(UNPROTECTED);
    return decrypted;
  };
  return { decrypt };
}
