import type { HeapProfiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';

/** Blocks of these belong to tests. */
const ofTests = /\/test\/|\/node_modules\/(@vitest|vitest|vite|@jridgewell)\/|^node:|^$/;

/** `began`: the regular expression's earlier `lastIndex`. */
type Amount = (self: unknown, args: readonly unknown[], result: unknown, began: number) => number;

const lengthOf = (value: unknown): number => (value as { length?: number } | null)?.length ?? 0;
/** A search counts up to the find, or to the end. */
const searched: Amount = (self, [what, from], result) => {
  const begin = Math.max(0, Number(from ?? 0));
  const found = typeof result === 'number' ? result : result === true ? indexIn(self, what, begin) : -1;
  return 1 + (found < 0 ? Math.max(0, lengthOf(self) - begin) : found - begin);
};
const { indexOf } = Array.prototype;
const { indexOf: indexOfText } = String.prototype;
const indexIn = (self: unknown, what: unknown, from: number): number =>
  typeof self === 'string' ? indexOfText.call(self, String(what), from) : indexOf.call(self, what, from);
const whole: Amount = (self) => lengthOf(self);
const made: Amount = (_self, _args, result) => lengthOf(result);
/** A splice counts the removed elements and the elements that move up. */
const spliced: Amount = (self, [from], result) =>
  lengthOf(result) + Math.max(0, lengthOf(self) - Number(from));
/** A match counts from its `lastIndex` to the match's end, or to the text's. */
const matched: Amount = (self, [text], result, began) => {
  const { sticky, global, lastIndex } = self as RegExp;
  const begin = sticky || global ? began : 0;
  if (result === null || result === false) return sticky ? 1 : Math.max(1, lengthOf(text) - begin);
  if (sticky || global) return lastIndex - begin;
  return result === true
    ? lengthOf(text)
    : (result as RegExpExecArray).index + lengthOf((result as RegExpExecArray)[0]);
};

const walking: readonly (readonly [object, string, Amount])[] = [
  ...['includes', 'indexOf'].flatMap((name) => [
    [Array.prototype, name, searched] as const,
    [String.prototype, name, searched] as const,
  ]),
  ...['slice', 'concat', 'flat', 'join'].map((name) => [Array.prototype, name, made] as const),
  [Array.prototype, 'splice', spliced],
  ...['shift', 'unshift', 'fill'].map((name) => [Array.prototype, name, whole] as const),
  ...['split', 'replace', 'replaceAll', 'trim'].map((name) => [String.prototype, name, whole] as const),
  [RegExp.prototype, 'exec', matched],
  [RegExp.prototype, 'test', matched],
  ...['keys', 'entries', 'values'].map((name) => [Object, name, made] as const),
  ...[[][Symbol.iterator](), new Map().entries(), new Set().values()].map(
    (each) => [Object.getPrototypeOf(each) as object, 'next', () => 1] as const,
  ),
];

/** Replaces built-in functions by counting ones; the returned function undoes it. */
const countWalks = (add: (name: string, amount: number) => void): (() => void) => {
  const undo = walking.map(([of, name, amount]) => {
    const found = Object.getOwnPropertyDescriptor(of, name);
    const own: unknown = found?.value;
    if (found === undefined || typeof own !== 'function') throw new Error(`no ${name}`);
    const value = function (this: unknown, ...args: unknown[]): unknown {
      const began = this instanceof RegExp ? this.lastIndex : 0;
      const result: unknown = Reflect.apply(own, this, args);
      add(name, amount(this, args, result, began));
      return result;
    };
    Object.defineProperty(of, name, { ...found, value });
    return () => Object.defineProperty(of, name, found);
  });
  return () => {
    for (const each of undo) each();
  };
};

type Amounts = ReadonlyMap<string, number>;

export interface Work {
  readonly steps: Amounts;
  /** Bytes allocated in JavaScript's heap, including freed ones, sampled every 16 KiB. */
  readonly bytes: Amounts;
}

const fileOf = (url: string): string => url.split('/').slice(-2).join('/');

const allocated = (
  { callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode,
  add: (name: string, bytes: number) => void,
): void => {
  if (selfSize > 0) add(`${callFrame.functionName} in ${fileOf(callFrame.url)}`, selfSize);
  for (const child of children) allocated(child, add);
};

const adder =
  (amounts: Map<string, number>) =>
  (name: string, amount: number): void => {
    amounts.set(name, (amounts.get(name) ?? 0) + amount);
  };

/**
 * Counts a function's work, since time is too noisy: runs of JavaScript blocks, elements and characters that
 * built-in functions walk over, and allocated memory. Does not see a regular expression's work beyond its
 * text's length.
 */
export const workOf = async (run: () => Promise<unknown>): Promise<Work> => {
  const [steps, bytes] = [new Map<string, number>(), new Map<string, number>()];
  const [add, addBytes] = [adder(steps), adder(bytes)];
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  // Counts collected objects too: a quadratic copy is garbage at once.
  const all = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
  await session.post('HeapProfiler.startSampling', { samplingInterval: 16_384, ...all });
  const release = countWalks(add);
  try {
    await run();
  } finally {
    release();
    const { profile } = await session.post('HeapProfiler.stopSampling');
    allocated(profile.head, addBytes);
  }
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  for (const { url, functions } of result)
    if (!ofTests.test(url))
      for (const { functionName, ranges } of functions)
        for (const { count, startOffset } of ranges)
          add(`${functionName || startOffset} in ${fileOf(url)}`, count);
  return { steps, bytes };
};

export const total = (amounts: Amounts): number =>
  [...amounts.values()].reduce((sum, count) => sum + count, 0);

export const mostGrown = (before: Amounts, after: Amounts): string =>
  [...after]
    .map(([name, count]): [string, number] => [name, count - (before.get(name) ?? 0)])
    .sort((a, b) => b[1] - a[1])
    .slice(0, 3)
    .map(([name, more]) => `${name} ${more}`)
    .join(', ');
