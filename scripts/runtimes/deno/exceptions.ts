/** Tests that are expected to fail on Deno. They still run, and a test that passes is an error, so that it gets removed from this list. */

export type Exception = {
  readonly file: string;
  /** The test's name; absent for the whole file. */
  readonly test?: string;
  readonly reason: string;
};

export const EXCEPTIONS: readonly Exception[] = [
  {
    file: 'test/docs/walks.test.ts',
    reason: "it counts calls with the profiler of Node's inspector",
  },
  {
    file: 'test/binary.slow.test.ts',
    reason: 'the single binary contains Node and is built with Node',
  },
  {
    file: 'test/bench/command.slow.test.ts',
    reason: 'the benchmarks compare the single binary with the sources on Node',
  },
  {
    file: 'test/bench/profile.test.ts',
    test: 'are written by Node on the clock of the span',
    reason: 'it reads a profile written by an option of Node',
  },
  {
    file: 'test/kernel/threads.test.ts',
    reason: 'it blocks the threads of libuv, which Deno does not have',
  },
  {
    file: 'test/http/routes/token-raw.test.ts',
    test: 'a body that ends before its length is no request: no token, and the connection ends',
    reason: 'Deno closes such a connection without a 400',
  },
  {
    file: 'test/receiver/large.test.ts',
    test: 'is reused after a refused body that was not read completely',
    reason: 'Deno resets a connection if the response precedes the end of the request body',
  },
  {
    file: 'test/e2e/failures.test.ts',
    test: 'that is expired is tls_expired, and not a byte is sent',
    reason: 'Deno reports an expired certificate as one that it cannot verify: tls_untrusted',
  },
  {
    file: 'test/outbound/tls.test.ts',
    test: 'a receiver that closes because it wants a client certificate is distinguished from one that closes for another reason',
    reason: 'Deno does not tell programs that the server requested a client certificate',
  },
  {
    file: 'test/outbound/memory.test.ts',
    reason: 'Deno 2.9 leaks about 18 KiB of heap for each destroyed TLS connection',
  },
  {
    file: 'test/package/sallyport.slow.test.ts',
    test: 'brings the command, which can issue a token and deliver a webhook',
    reason: 'npm installs commands with a first line that starts Node',
  },
  {
    file: 'test/wire/pgp.test.ts',
    test: 'names the curve of a key that the library cannot verify',
    reason: 'on Deno the library can verify this key',
  },
];
