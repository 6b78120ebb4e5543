/** The environment of programs under test. */

/** The variables of every program in tests: where programs are, and where they store compiled code and coverage. */
const NAMES = ['PATH', 'NODE_COMPILE_CACHE', 'NODE_V8_COVERAGE'];

/** Only these variables of this process, so that the settings of a developer's shell change nothing. */
export function baseEnvironment(): Record<string, string> {
  return Object.fromEntries(
    NAMES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}
