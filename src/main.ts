/** The command line: `sallyport <command> …`. */
import './threads.ts';
import { run } from './cli/run.ts';
import { processTerminal } from './cli/terminal.ts';

run(process.argv.slice(2), processTerminal()).then(
  (status) => process.exit(status),
  () => process.exit(1),
);
