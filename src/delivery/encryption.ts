/**
 * Encrypts bodies where the event loop does not wait for it: small ones here, in turns, large ones in a thread that begins with the
 * first and ends when there have been none for a while. It takes 25 MB.
 */
import { Worker } from 'node:worker_threads';
import { threadProgram } from '../assets.ts';
import { ENCRYPTED_HERE_BYTES, ENCRYPTION_IDLE_MS } from '../limits.ts';
import { type Encrypt, encryptBinary, keyError } from '../wire/pgp.ts';
import { type Encrypted, handedOver, type ToEncrypt } from './encryption-messages.ts';

export type Encryption = {
  /** Takes the bytes away, where they are many. */
  readonly encrypt: Encrypt;
  /** Ends the thread; what it has in hand is rejected. */
  close(): Promise<void>;
};

type Waiting = { readonly resolve: (bytes: Uint8Array) => void; readonly reject: (error: Error) => void };

/** `onEnd` is told of a thread that ended unasked; what it had in hand is rejected, and the next body begins another. `ownProgram` is the text of another program. */
export function createEncryption(onEnd: (error: Error) => void, ownProgram?: string): Encryption {
  let worker: Worker | null = null;
  let waiting: Waiting[] = [];
  let idle: NodeJS.Timeout | undefined;

  const refuseAll = (error: Error): void => {
    const lost = waiting;
    waiting = [];
    for (const { reject } of lost) reject(error);
  };

  const end = (ended: Worker, error: Error): void => {
    if (worker !== ended) return;
    worker = null;
    refuseAll(error);
    onEnd(error);
  };

  const close = async (): Promise<void> => {
    clearTimeout(idle);
    const ending = worker;
    worker = null;
    refuseAll(new Error('the service is stopping'));
    await ending?.terminate();
  };

  const begin = (): Worker => {
    const program = ownProgram ?? threadProgram('encryption');
    const begun = new Worker(program, {
      ...{ name: 'sallyport-encryption', eval: typeof program === 'string' },
      // A body and its copies are garbage once they are sent.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    begun.on('message', (encrypted: Encrypted) => {
      const asked = waiting.shift();
      if (encrypted.ok) asked?.resolve(encrypted.bytes);
      else asked?.reject(errorOf(encrypted));
      if (waiting.length > 0) return;
      // A program with nothing else to do ends though it has the thread.
      begun.unref();
      idle = setTimeout(close, ENCRYPTION_IDLE_MS).unref();
    });
    begun.once('error', (error) => end(begun, error instanceof Error ? error : new Error(String(error))));
    begun.once('exit', () => end(begun, new Error('the thread that encrypts has ended')));
    return begun;
  };

  return {
    encrypt: (publicKey, bytes, now) => {
      if (bytes.length < ENCRYPTED_HERE_BYTES) return encryptBinary(publicKey, bytes, now);
      return new Promise((resolve, reject) => {
        clearTimeout(idle);
        worker ??= begin();
        worker.ref();
        worker.postMessage({ publicKey, bytes, now } satisfies ToEncrypt, handedOver(bytes));
        waiting.push({ resolve, reject });
      });
    },
    close,
  };
}

function errorOf({ message, code }: Extract<Encrypted, { readonly ok: false }>): Error {
  return code === null ? new Error(message) : keyError({ ok: false, code, description: message });
}
