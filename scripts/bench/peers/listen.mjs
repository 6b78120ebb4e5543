/** Listens on a free loopback port and prints where, as the benchmark that started this program waits for it. */

export function listen(server) {
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`);
  });
  process.once('SIGTERM', () => process.exit(0));
}
