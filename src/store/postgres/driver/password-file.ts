/** The password file of libpq (PostgreSQL, "The Password File"). */
import { readFileSync, statSync } from 'node:fs';

/** `problem` says why a file that exists is ignored. */
type PasswordFile = { readonly password: string | null; readonly problem: string | null };

type PasswordFor = {
  readonly host: string;
  readonly port: string;
  readonly database: string;
  readonly user: string;
};

/** Looks a password up. Ignores a file that others may read, as libpq does, and a file that does not exist. */
export function readPasswordFile(path: string, wanted: PasswordFor): PasswordFile {
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return { password: null, problem: `${path} is ignored, because it is not a plain file` };
    if (process.platform !== 'win32' && (stat.mode & 0o077) !== 0) {
      return { password: null, problem: `${path} is ignored, because others may read it: chmod 0600 ${path}` };
    }
    return { password: passwordIn(readFileSync(path, 'utf8'), wanted), problem: null };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return {
      password: null,
      problem: code === 'ENOENT' ? null : `${path} is ignored, because it cannot be read (${code})`,
    };
  }
}

/** The password of the first line `host:port:database:user:password` that fits. `*` fits everything; `\` escapes `:` and `\`. */
export function passwordIn(text: string, wanted: PasswordFor): string | null {
  const values = [wanted.host, wanted.port, wanted.database, wanted.user];
  for (const line of text.split(/\r?\n/)) {
    const fields = fieldsOf(line);
    const password = fields[values.length];
    if (line.startsWith('#') || password === undefined || password === '') continue;
    if (values.every((value, at) => fields[at] === '*' || fields[at] === value)) return password;
  }
  return null;
}

function fieldsOf(line: string): string[] {
  const fields: string[] = [];
  let field = '';
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === ':') {
      fields.push(field);
      field = '';
      continue;
    }
    if (line[at] === '\\' && at + 1 < line.length) at += 1;
    field += line[at];
  }
  return [...fields, field];
}
