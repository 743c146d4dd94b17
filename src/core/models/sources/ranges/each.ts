/** Runs `work` on items in order, `most` at a time. The first failure stops `requests` and is thrown. */
export const eachOf = async <Item>(
  requests: { stop(): void },
  items: Iterable<Item>,
  most: number,
  work: (item: Item) => Promise<void>,
): Promise<void> => {
  const waiting = items[Symbol.iterator]();
  let failure: { error: unknown } | undefined;
  const lane = async () => {
    for (let next = waiting.next(); !next.done && failure === undefined; next = waiting.next())
      await work(next.value).catch((error: unknown) => {
        failure ??= { error };
        requests.stop();
      });
  };
  await Promise.all(Array.from({ length: most }, lane));
  if (failure !== undefined) throw (failure as { error: unknown }).error;
};
