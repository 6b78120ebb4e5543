/** The environment of programs under test. */

/** What they run with in every test: where programs are, and where they keep compiled code and coverage. */
const NAMES = ['PATH', 'NODE_COMPILE_CACHE', 'NODE_V8_COVERAGE'];

/** Those variables of this process and no other, so that no setting of whoever runs the tests changes what a program does. */
export function baseEnvironment(): Record<string, string> {
  return Object.fromEntries(
    NAMES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}
