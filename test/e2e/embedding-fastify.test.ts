import { testEmbedding } from '../support/embedding.ts';

testEmbedding('Fastify', /Route POST:\S* not found/);
