/** A receiver as a Fastify plugin. The types below declare the parts of Fastify that it uses, so that its own types are not needed. */
import { type NodeRequest, receiveFrom } from './node.ts';
import type { Receives } from './receiver.ts';

type Parse = (request: never, payload: never, done: (error: Error | null, body?: undefined) => void) => void;

export type FastifyInstance = {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(contentType: string, parse: Parse): unknown;
  post(path: string, handle: Handle): unknown;
  options(path: string, handle: Handle): unknown;
};

type Handle = (request: { readonly raw: NodeRequest }, reply: FastifyReply) => Promise<unknown>;

export type FastifyReply = {
  code(status: number): FastifyReply;
  headers(headers: Record<string, string>): FastifyReply;
  send(body: string | null): FastifyReply;
};

/** Use it as `app.register(fastifyPlugin(receiver, '/hook'))`. Only in the plugin's own context are bodies left unparsed. */
export function fastifyPlugin(receiver: Receives, path: string): (instance: FastifyInstance) => Promise<void> {
  return async (instance) => {
    instance.removeAllContentTypeParsers();
    instance.addContentTypeParser('*', (_request, _payload, done) => done(null));
    const handle: Handle = async ({ raw }, reply) => {
      const { status, headers, body } = await receiveFrom(receiver, raw);
      return reply
        .code(status)
        .headers({ ...headers })
        .send(body);
    };
    instance.post(path, handle);
    // The handshake of CloudEvents.
    instance.options(path, handle);
  };
}
