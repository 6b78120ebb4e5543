import { testEmbedding } from '../support/embedding.ts';

testEmbedding('node:http', /^no such page$/);
