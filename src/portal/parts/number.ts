/** Numbers as people read them. */

/** `12,345`: of integers. Where a text is put together when the program starts, a locale's own way would cost it 20 ms. */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `12,345 records`, `1 record`; `none` for nothing where it is given. */
export function countOf(count: number, noun: string, none?: string, plural = `${noun}s`): string {
  if (count === 0 && none !== undefined) return none;
  return `${countText(count)} ${count === 1 ? noun : plural}`;
}

/** A share from 0 to 1: `99.9 %`. Never rounded up to all of it. */
export function shareText(share: number): string {
  return `${(Math.floor(share * 1000) / 10).toFixed(share === 1 ? 0 : 1)} %`;
}
