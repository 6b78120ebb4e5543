/** The program of the thread that encrypts: one body after the other, in the order in which they come. */
import { parentPort } from 'node:worker_threads';
import { encryptBinary, keyErrorCode } from '../wire/pgp.ts';
import { type Encrypted, handedOver, type ToEncrypt } from './encryption-messages.ts';

const port = parentPort;
if (port !== null) {
  const answer = async ({ publicKey, bytes, now }: ToEncrypt): Promise<void> => {
    let encrypted: Encrypted;
    try {
      encrypted = { ok: true, bytes: await encryptBinary(publicKey, bytes, now) };
    } catch (error) {
      encrypted = { ok: false, message: (error as Error).message, code: keyErrorCode(error) };
    }
    port.postMessage(encrypted, encrypted.ok ? handedOver(encrypted.bytes) : []);
  };
  // Answers keep the order of the questions, since bodies are encrypted in turns.
  port.on('message', (asked: ToEncrypt) => void answer(asked));
}
