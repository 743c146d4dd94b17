const known = new Map<string, WeakRef<Float64Array>>();

/**
 * Returns a list of numbers in memory that threads share: for one key the same list, for as long as anything has it. The
 * matrices of every layer have equal lists, of megabytes each. V8 does not count shared memory as a heap's, and so would
 * keep lists of many layers until something else has it collect.
 *
 * @param key says what the numbers are
 */
export const sharedList = (key: string, make: () => ArrayLike<number>): Float64Array => {
  const found = known.get(key)?.deref();
  if (found !== undefined) return found;
  for (const [other, list] of known) if (list.deref() === undefined) known.delete(other);
  const made = sharedNumbers(make());
  known.set(key, new WeakRef(made));
  return made;
};

/** Returns numbers in memory that threads share, so that every slice's job need not carry a copy; those that are there already, as they are. */
export const sharedNumbers = (numbers: ArrayLike<number>): Float64Array => {
  if (numbers instanceof Float64Array && numbers.buffer instanceof SharedArrayBuffer) return numbers;
  const shared = new Float64Array(new SharedArrayBuffer(numbers.length * Float64Array.BYTES_PER_ELEMENT));
  shared.set(numbers);
  return shared;
};
