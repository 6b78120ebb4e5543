/** The exports of `sallyport-receiver`. Those of `sallyport-receiver/pgp` are in pgp.ts. */
export type { HeaderPairs, HeaderRecord } from '../wire/headers.ts';
export type { Decrypt } from '../wire/payload-decoding.ts';
export { publicKeyWebhooks } from '../wire/public-key-verification.ts';
export { readStandardWebhook as standardWebhooks } from '../wire/standard-webhooks-verification.ts';
export { CatchUpError } from './calls.ts';
export { type CatchUpOptions, catchUp } from './catch-up.ts';
export type { Delivery, EventDelivery, EventOf, RecordOf } from './delivery.ts';
export { type EventFormats, type EventFormatsOptions, eventFormats } from './events.ts';
export { type FastifyInstance, type FastifyReply, fastifyPlugin } from './fastify.ts';
export { fetchHandler } from './fetch.ts';
export { type NodeRequest, type NodeResponse, nodeHandler } from './node.ts';
export type { Opened, OpenVerdict } from './open.ts';
export type { ReceiverOptions, VerifyOptions } from './options.ts';
export { type Pulled, type PullOptions, pull } from './pull.ts';
export { type Answer, createReceiver, type Receiver, type Receives } from './receiver.ts';
export type { Refusal, RefusalCode } from './refusals.ts';
export type { ReadBody, ReceivedRequest } from './request.ts';
export { memorySeen, type SeenStore } from './seen.ts';
