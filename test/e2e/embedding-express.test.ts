import { testEmbedding } from '../support/embedding.ts';

testEmbedding('Express', 'embedding-express.ts', /Cannot POST/);
