/** Bounds what undici reads of one connection: interim answers, and the bytes of one answer in all. */
import type { TLSSocket } from 'node:tls';
import { ANSWER_BYTES, INTERIM_ANSWERS_MAX, INTERIM_HEADS_BYTES } from '../kernel/limits/limits.ts';
import { deliveryError } from './classify.ts';
import { createInterimFilter } from './interim.ts';

export type Incoming = {
  /** A request goes out: what is read from now on belongs to its answer. */
  begin(): void;
};

/**
 * Replaces `read` of `socket`, the only way by which undici takes bytes from it. A bound that is passed destroys the socket with an error
 * that names it. The bound in bytes also covers what the parser drops unseen, such as chunk extensions and the reason phrase, which a
 * receiver could otherwise send for as long as the attempt lasts.
 */
export function boundIncoming(socket: TLSSocket): Incoming {
  const interim = createInterimFilter();
  const read = socket.read.bind(socket);
  let bytes = 0;

  socket.read = (size?: number): unknown => {
    // Node's own streams ask with a size of 0, to have more fetched.
    if (size !== undefined) return read(size);
    for (;;) {
      const chunk = read() as Buffer<ArrayBuffer> | null;
      if (chunk === null) return null;
      bytes += chunk.length;
      const passed = interim.pass(chunk);
      if (passed === 'too many') return fail('malformed_response', TOO_MANY_INTERIM);
      if (bytes > ANSWER_BYTES)
        return fail('response_too_large', `the answer has more than ${ANSWER_BYTES} bytes in all`);
      if (passed !== null) return passed;
    }
  };

  const fail = (errorClass: 'malformed_response' | 'response_too_large', message: string): null => {
    socket.destroy(deliveryError(errorClass, message));
    return null;
  };

  return {
    begin() {
      bytes = 0;
      interim.begin();
    },
  };
}

const TOO_MANY_INTERIM = `the receiver sent more than ${INTERIM_ANSWERS_MAX} interim answers (1xx), or more than ${INTERIM_HEADS_BYTES} bytes of them`;
