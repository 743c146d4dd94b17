/** A name beside `path` that no other process uses. */
export const temporaryName = (path: string): string =>
  `${path}.${Math.random().toString(16).slice(2, 10)}.incomplete`;
