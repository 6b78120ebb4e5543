/** Code that verifies a delivery, in several languages: excerpts of the programs in the documentation. */
import { type AssetName, readAsset } from '../../kernel/assets.ts';

export type CodeExample = { readonly label: string; readonly code: string };

const PROGRAMS: readonly (readonly [label: string, asset: AssetName, excerpt: (text: string) => string])[] = [
  ['TypeScript', 'receivers/javascript', firstExample],
  ['Python', 'receivers/python', markedPart],
  ['Go', 'receivers/go', markedPart],
  ['Java', 'receivers/java', markedPart],
  ['C#', 'receivers/csharp', markedPart],
  ['PHP', 'receivers/php', markedPart],
  ['Ruby', 'receivers/ruby', markedPart],
];

let made: readonly CodeExample[] | null = null;

/** Read at the first use. */
export function receiverCode(): readonly CodeExample[] {
  made ??= PROGRAMS.map(([label, asset, excerpt]) => ({ label, code: excerpt(readAsset(asset)) }));
  return made;
}

/** The lines between `verify:begin` and `verify:end`, without their common indent. */
export function markedPart(text: string): string {
  const lines = text.split('\n');
  const begin = lines.findIndex((line) => line.includes('verify:begin'));
  const end = lines.findIndex((line) => line.includes('verify:end'));
  const part = lines.slice(begin + 1, end);
  const indents = part.filter((line) => line.trim() !== '').map((line) => /^[ \t]*/.exec(line)?.[0].length ?? 0);
  const indent = Math.min(...indents);
  return part
    .map((line) => line.slice(indent))
    .join('\n')
    .trim();
}

/** The first example of a documentation page: the one for `node:http`. */
export function firstExample(markdown: string): string {
  return /```ts\n([\s\S]*?)\n```/.exec(markdown)?.[1] ?? '';
}
