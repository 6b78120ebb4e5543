import { testEmbedding } from '../support/embedding.ts';

testEmbedding('Express', /Cannot POST/);
