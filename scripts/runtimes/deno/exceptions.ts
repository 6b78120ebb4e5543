/** Tests that are expected to fail on Deno. They run there, and one that passes is reported, so that it can be removed from this list. */

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
    reason: 'the single binary is a Node with the program inside, and is made with that Node',
  },
  {
    file: 'test/bench/command.slow.test.ts',
    reason: 'the benchmarks measure the single binary beside the sources, on Node',
  },
  {
    file: 'test/bench/profile.test.ts',
    test: 'are written by Node on the clock of the span',
    reason: "it reads a profile that Node's own option has a program leave",
  },
  {
    file: 'test/kernel/threads.test.ts',
    reason: 'it holds the threads of libuv, which Deno does not have',
  },
  {
    file: 'test/http/routes/token-raw.test.ts',
    test: 'a body that ends before its length is no request: no token, and the connection ends',
    reason: 'Deno ends such a connection without a 400 of its own',
  },
  {
    file: 'test/receiver/large.test.ts',
    test: 'is reused after a refused body that was not read completely',
    reason: 'Deno resets a connection whose request was answered before its body had come',
  },
  {
    file: 'test/e2e/failures.test.ts',
    test: 'that is expired is tls_expired, and not a byte is sent',
    reason: 'to Deno an expired certificate is one that cannot be verified: tls_untrusted',
  },
  {
    file: 'test/outbound/tls.test.ts',
    test: 'a receiver that closes because it wants a client certificate is distinguished from one that closes for another reason',
    reason: 'Deno does not let a program know that a client certificate was asked for',
  },
  {
    file: 'test/outbound/memory.test.ts',
    reason: 'on Deno 2.9 about 18 KiB of the heap remain for each TLS connection that was destroyed',
  },
  {
    file: 'test/package/sallyport.slow.test.ts',
    test: 'brings the command, which can issue a token and deliver a webhook',
    reason: 'what npm installs as a command is started by Node, as its first line says',
  },
  {
    file: 'test/wire/pgp.test.ts',
    test: 'names the curve of a key that the library cannot verify',
    reason: 'on Deno the library can verify it',
  },
];
