const known = new Map<string, WeakRef<Float64Array>>();

/** Returns a list in shared memory, shared by equal keys while in use: V8 frees duplicates too late. */
export const sharedList = (key: string, make: () => ArrayLike<number>): Float64Array => {
  const found = known.get(key)?.deref();
  if (found !== undefined) return found;
  for (const [other, list] of known) if (list.deref() === undefined) known.delete(other);
  const made = sharedNumbers(make());
  known.set(key, new WeakRef(made));
  return made;
};

/** Copies numbers to shared memory, so that jobs need not carry copies. */
export const sharedNumbers = (numbers: ArrayLike<number>): Float64Array => {
  if (numbers instanceof Float64Array && numbers.buffer instanceof SharedArrayBuffer) return numbers;
  const shared = new Float64Array(new SharedArrayBuffer(numbers.length * Float64Array.BYTES_PER_ELEMENT));
  shared.set(numbers);
  return shared;
};
