/** What goes between the event loop and the thread that makes large bodies. */
import type { BatchBody, BatchBodyRequest } from './body.ts';

/** Given to the thread when it begins: the database that it reads. */
export type BodyThreadStart = { readonly path: string };

/** Answers come in any order, so each has the number of its question. */
export type BodyQuestion = { readonly number: number; readonly request: BatchBodyRequest };

/** Told when the thread begins: why it has the priority of everybody else. */
export type BodyThreadNotice = { readonly cannotGiveWay: Error };

/** `error` is that of a fault: one that the records and the key do not explain. */
export type BodyAnswer = { readonly number: number } & ({ readonly body: BatchBody } | { readonly error: Error });
