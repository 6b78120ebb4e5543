/**
 * The cost of only gzip and OpenPGP: the same libraries with the same settings on the same bodies, and nothing around them.
 * Argument: the settings as JSON.
 */
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { createMessage, encrypt, enums, generateSessionKey, readKey } from 'openpgp';
import { repeat, serve } from './commands.mjs';

const { bodyFile, publicKey, isGzipped, isEncrypted, recordsPerPost } = JSON.parse(process.argv[2]);
const bytes = readFileSync(bodyFile);
const compress = promisify(gzip);
const encryptionKeys = await readKey({ armoredKey: publicKey });
const config = { preferredCompressionAlgorithm: enums.compression.uncompressed };

async function encode() {
  const content = isGzipped ? await compress(bytes) : bytes;
  if (!isEncrypted) return content;
  const { data, algorithm } = await generateSessionKey({ encryptionKeys });
  const message = await createMessage({ binary: content });
  return encrypt({ message, encryptionKeys, sessionKey: { data, algorithm }, format: 'binary', config });
}

await serve({
  queue: async () => {},
  drain: (records) => repeat(records / recordsPerPost, 4, encode),
});
