/**
 * The limit of Node's own HTTP server on this machine: it reads a POST to its end and answers with the same bytes, and answers
 * a GET with an object as JSON. Nothing is checked and nothing is kept.
 */
import { createServer } from 'node:http';
import { listen } from './listen.mjs';

const employee = JSON.parse(process.argv[2]);

listen(
  createServer((request, response) => {
    if (request.method === 'POST') {
      const chunks = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => answer(response, Buffer.concat(chunks)));
    } else {
      answer(response, JSON.stringify(employee));
    }
  }),
);

function answer(response, body) {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}
