/** Numbers as text. */

/** `12,345`, for integers. `toLocaleString` would cost 20 ms at the start of the program. */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `12,345 records`, `1 record`; `none` for 0 if given. */
export function countOf(count: number, noun: string, none?: string, plural = `${noun}s`): string {
  if (count === 0 && none !== undefined) return none;
  return `${countText(count)} ${count === 1 ? noun : plural}`;
}

/** A share from 0 to 1: `99.9 %`. Never rounded up to 100 %. */
export function shareText(share: number): string {
  return `${(Math.floor(share * 1000) / 10).toFixed(share === 1 ? 0 : 1)} %`;
}
