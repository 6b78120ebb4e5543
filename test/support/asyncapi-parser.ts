/** The official parser of AsyncAPI documents. */
import { createRequire } from 'node:module';
import { Parser } from '@asyncapi/parser';

const fromParser = createRequire(createRequire(import.meta.url).resolve('@asyncapi/parser'));
const linter = fromParser('@stoplight/spectral-functions/dist/schema/ajv.js') as { createAjvInstances: () => unknown };

/** The linter would compile the schemas of the specification again for each document, which takes most of a second of processor time. */
const compiled = linter.createAjvInstances();
linter.createAjvInstances = () => compiled;

export const asyncApiParser: Parser = new Parser();
