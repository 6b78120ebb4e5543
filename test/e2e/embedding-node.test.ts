import { testEmbedding } from '../support/embedding.ts';

testEmbedding('node:http', 'embedding-node.ts', /^no such page$/);
