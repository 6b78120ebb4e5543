/** A receiver as a plugin of Fastify. The types say what is used of Fastify, so that none of its own are needed. */
import { type NodeRequest, receiveFrom } from './node.ts';
import type { Receives } from './receiver.ts';

type Parse = (request: never, payload: never, done: (error: Error | null, body?: undefined) => void) => void;

export type FastifyInstance = {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(contentType: string, parse: Parse): unknown;
  post(
    path: string,
    handle: (request: { readonly raw: NodeRequest }, reply: FastifyReply) => Promise<unknown>,
  ): unknown;
};

export type FastifyReply = {
  code(status: number): FastifyReply;
  headers(headers: Record<string, string>): FastifyReply;
  send(body: string | null): FastifyReply;
};

/** `app.register(fastifyPlugin(receiver, '/hook'))`. In a context of its own, where bodies are left as they come. */
export function fastifyPlugin(receiver: Receives, path: string): (instance: FastifyInstance) => Promise<void> {
  return async (instance) => {
    instance.removeAllContentTypeParsers();
    instance.addContentTypeParser('*', (_request, _payload, done) => done(null));
    instance.post(path, async ({ raw }, reply) => {
      const { status, headers, body } = await receiveFrom(receiver, raw);
      return reply
        .code(status)
        .headers({ ...headers })
        .send(body);
    });
  };
}
