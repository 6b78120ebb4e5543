/** The environment of programs under test. */

/** The variables that every program under test gets: the path, and where to store compiled code and coverage. */
const NAMES = ['PATH', 'NODE_COMPILE_CACHE', 'NODE_V8_COVERAGE'];

/** Returns only these variables, so that settings in the developer's shell have no effect. */
export function baseEnvironment(): Record<string, string> {
  return Object.fromEntries(
    NAMES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}
