/** The options of `sallyport listen`: how to verify deliveries, and how to answer them. */

import { randomBytes } from 'node:crypto';
import { PORT_MAX } from '../../config/values.ts';
import { ambiguityOf } from '../../outbound/plain-url.ts';
import type { VerifyOptions } from '../../receiver/index.ts';
import { decryptBinary } from '../../wire/pgp-decryption.ts';
import { givenSecret } from '../../wire/signature.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../errors.ts';
import { readFileOrInput, readSecretText } from '../input.ts';
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

/** `made`: the new secret and API key if no secret was given. */
export type ListenVerification = {
  readonly verification: VerifyOptions;
  readonly made: { readonly secret: string; readonly apiKey: string } | null;
};

export async function readVerification(invocation: Invocation): Promise<ListenVerification> {
  const given: string[] = [];
  for (const secret of invocation.texts('secret')) given.push(await readSecretText(invocation, 'secret', secret));
  const apiKeys = invocation.texts('api-key');
  const decrypt = await readDecryption(invocation);
  if (given.some((secret) => givenSecret(secret) === null))
    throw new UsageError('--secret begins with whsec_ but is not Base64 after that', invocation.command.name);
  if (given.includes('')) throw new UsageError('--secret is empty', invocation.command.name);
  if (given.length > 0) {
    const verification = {
      secrets: given,
      ...(apiKeys.length > 0 && { apiKey: apiKeys }),
      ...(decrypt && { decrypt }),
    };
    return { verification, made: null };
  }
  const made = { secret: randomBytes(32).toString('base64'), apiKey: apiKeys[0] ?? randomBytes(16).toString('hex') };
  const apiKey = apiKeys.length > 0 ? apiKeys : made.apiKey;
  return { verification: { secrets: made.secret, apiKey, ...(decrypt && { decrypt }) }, made };
}

const UNPROTECTED = 'Warning: the PGP message has no integrity protection, so changes to it cannot be detected.\n';

/** The same key for every key name. */
async function readDecryption(invocation: Invocation): Promise<VerifyOptions['decrypt'] | null> {
  const file = invocation.text('pgp-key');
  const given = invocation.text('pgp-passphrase');
  if (file === undefined) {
    if (invocation.given('pgp-allow-unprotected'))
      throw new UsageError('--pgp-allow-unprotected requires --pgp-key', invocation.command.name);
    if (given === undefined) return null;
    throw new UsageError('--pgp-passphrase requires --pgp-key', invocation.command.name);
  }
  const privateKey = await readFileOrInput(invocation, file);
  const passphrase = given === undefined ? undefined : await readSecretText(invocation, 'pgp-passphrase', given);
  const allowUnprotected = invocation.given('pgp-allow-unprotected');
  return async (bytes) => {
    const decrypted = await decryptBinary(bytes, privateKey, passphrase, { allowUnprotected });
    if (decrypted.ok && !decrypted.isProtected) await invocation.terminal.err(UNPROTECTED);
    return decrypted;
  };
}
