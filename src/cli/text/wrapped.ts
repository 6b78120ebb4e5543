/** The width of what commands print, and texts in lines of it. */

/** In characters, unless a table has a wider terminal. */
export const TEXT_WIDTH = 100;

/**
 * Breaks a text into lines between words. A word that is longer than a line has one of its own. Lines after the first have `hang` fewer
 * characters.
 */
export function wrapped(text: string, width: number = TEXT_WIDTH, hang = 0): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    const room = lines.length > 1 ? width - hang : width;
    if (line !== undefined && line.length + 1 + word.length <= room) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
