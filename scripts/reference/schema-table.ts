/** Writes JSON Schemas as tables. */
import { membersOf, phraseOf, type Schema } from '../../src/http/api-document.ts';

/** A table of an object's members. Members of nested objects have their path as the name. */
export function membersTable(schema: Schema): string {
  const rows = membersOf(schema).map(({ path, schema: member, isOptional }) => {
    const prose = [isOptional ? '*optional*' : '', member.description ?? ''].filter((part) => part !== '').join(' ');
    return `| \`${path}\` | ${cell(phraseOf(member))} | ${cell(prose)} |`;
  });
  if (rows.length === 0) return '';
  return ['| field | type | meaning |', '|---|---|---|', ...rows].join('\n').concat('\n');
}

/** A cell of a Markdown table: one line, with escaped bars. */
function cell(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
}
