/** @throws RangeError for an absent item: a default would hide the bug */
export const itemAt = <T>(items: ArrayLike<T>, index: number): T => {
  if (!(index >= 0 && index < items.length))
    throw new RangeError(`there is no item ${index} of ${items.length}`);
  return items[index] as T;
};

/** @throws RangeError if the record has no own key of this name */
export const propertyAt = <V>(record: Readonly<Record<string, V>>, key: string): V => {
  if (!Object.hasOwn(record, key)) throw new RangeError(`there is no value of ${key}`);
  return record[key] as V;
};

/** Returns an object with only these properties, in this order. */
export const pick = <T extends object, const K extends keyof T>(from: T, ...keys: readonly K[]): Pick<T, K> =>
  Object.fromEntries(keys.map((key) => [key, from[key]])) as Pick<T, K>;

/** Returns a record's own value; undefined for inherited keys such as `toString`. */
export const ownValue = <V>(record: Readonly<Record<string, V>>, key: string): V | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

/** An object without prototype, so that keys from outside, such as `__proto__`, are plain keys. */
export const emptyTable = <V>(): Record<string, V> => Object.create(null) as Record<string, V>;

/** @throws RangeError if the map has no such key */
export const valueAt = <K, V>(map: { has(key: K): boolean; get(key: K): V | undefined }, key: K): V => {
  if (!map.has(key)) throw new RangeError(`there is no value of ${String(key)}`);
  return map.get(key) as V;
};

/** Groups items by key. Groups are in the order of their first items. */
export const groupBy = <Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> => {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
};

/**
 * Adds a value to a cache. Drops the oldest entry if there are more than `most`.
 *
 * @returns the value
 */
export const keep = <Key, Value>(cache: Map<Key, Value>, key: Key, value: Value, most: number): Value => {
  cache.set(key, value);
  const [oldest] = cache.keys();
  if (cache.size > most && oldest !== undefined) cache.delete(oldest);
  return value;
};
