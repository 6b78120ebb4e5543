/** A promise with its resolve function, for tests that wait for an event. */
export type Deferred<T> = { readonly promise: Promise<T>; resolve(value: T): void };

export function deferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: (value) => resolve(value) };
}
