/** The body of a reply that goes on: sent piece by piece, as fast as the client reads, until either side has had enough. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Log } from '../observe/log.ts';

type Streaming = {
  /** Aborted here when the client leaves or the server stops, so that the source ends. */
  readonly gone: AbortController;
  readonly stopping: AbortSignal | undefined;
  readonly log: Log;
};

/** Resolves once the stream has ended, whichever way; never rejects. A source that fails ends the connection, and the log says why. */
export async function sendStream(
  response: ServerResponse,
  source: AsyncIterable<string | Uint8Array>,
  { gone, stopping, log }: Streaming,
): Promise<void> {
  const leave = (): void => gone.abort();
  const { socket } = response;
  // Whoever ends its side of the connection has left: unlike an answer, a stream is not worth waiting for its own end.
  socket?.once('end', leave);
  if (socket?.readableEnded === true) leave();
  stopping?.addEventListener('abort', leave, { once: true });
  if (stopping?.aborted === true) leave();
  try {
    for await (const piece of source) {
      if (gone.signal.aborted) break;
      if (!response.write(piece)) await once(response, 'drain', { signal: gone.signal });
    }
    response.end();
  } catch (error) {
    if (!gone.signal.aborted) log.error({ err: error }, 'a stream broke off');
    response.destroy();
  } finally {
    socket?.off('end', leave);
    stopping?.removeEventListener('abort', leave);
  }
}
