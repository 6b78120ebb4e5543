import { testEmbedding } from '../support/embedding.ts';

testEmbedding('Fastify', 'embedding-fastify.ts', /Route POST:\S* not found/);
