// @ts-check
// Makes an odd or ill-typed call from a valid one.
/** @import { Random } from './random.mjs' */
/** @import { Call, Files } from './jobs.mjs' */

export class Planted extends Error {}

const oddNumbers = [
  ...[
    0,
    1,
    2,
    3,
    5,
    7,
    8,
    9,
    10,
    31,
    255,
    256,
    4095,
    4096,
    65_535,
    65_536,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32 - 1,
  ],
  ...[
    2 ** 32,
    2 ** 33,
    2 ** 40,
    2 ** 52,
    2 ** 53 - 1,
    2 ** 53,
    2 ** 61 + 512,
    2 ** 62,
    2 ** 63,
    2 ** 64,
    1e308,
  ],
  ...[-1, -2, -8, -(2 ** 31), -(2 ** 62), 0.5, 1.5, 256.5, 1e-320, -0],
  ...[Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
];

const names = [
  ...['copy', 'same', 'compute', 'linear', 'rowLinear', 'keep', 'dropRanked', 'vote', 'importance', 'select'],
  ...['assemble', 'fillRows', 'columnSums', 'rows'],
  ...['gram', 'rowGram', 'columnGram', 'rowMagnitudes', 'overlaps', 'nonFinite', 'histogram', 'divergence'],
  ...['BF16', 'F32', 'F64', 'F8_E5M2', 'input', 'output', 'elements', 'none', 'count', 'positive'],
  ...['', 'I16', 'no such name', 'é'.repeat(40), '\0'],
];

const resizable = (/** @type {number} */ bytes, /** @type {number} */ most) =>
  new /** @type {new (bytes: number, options: object) => ArrayBuffer} */ (ArrayBuffer)(bytes, {
    maxByteLength: most,
  });

/** An array as long as its buffer; the buffer then shrinks. */
const shrunk = () => {
  const buffer = resizable(64, 128);
  const array = new Float64Array(buffer, 8, 4);
  /** @type {{ resize(bytes: number): void }} */ (/** @type {unknown} */ (buffer)).resize(16);
  return array;
};

const detached = () => {
  const array = new Float64Array(8);
  structuredClone(array, { transfer: [array.buffer] });
  return array;
};

const oddValues = [
  () => undefined,
  () => null,
  () => true,
  () => '',
  () => '8',
  () => 1n,
  () => 2n ** 70n,
  () => Symbol('odd'),
  () => ({}),
  () => [],
  () => [undefined],
  () => () => 0,
  () => new Date(),
  () => new Proxy([], {}),
  () => new Proxy({}, { get: () => 0 }),
  () => new Array(2 ** 32 - 1),
  () => new Float64Array(),
  () => new Float64Array(9),
  () => new Float64Array(70_000),
  () => new Float64Array(resizable(64, 128)),
  () => new Float64Array(new SharedArrayBuffer(64)),
  () => new Float32Array(8),
  () => new Uint8Array(8),
  () => new Uint8ClampedArray(8),
  () => new Uint32Array(8),
  () => new Int32Array(8),
  () => new BigInt64Array(2),
  () => new BigInt64Array(3),
  () => new BigInt64Array(4),
  () => new BigUint64Array(3),
  () => new DataView(new ArrayBuffer(24)),
  () => new ArrayBuffer(24),
  () => new SharedArrayBuffer(24),
  shrunk,
  detached,
];

const TypedArray = /** @type {new () => unknown} */ (Object.getPrototypeOf(Uint8Array));

/** @typedef {{ holder: Record<string, unknown>, key: string }} Place */

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isTree = (value) => typeof value === 'object' && value !== null && !ArrayBuffer.isView(value);

/** Properties except getters, which the addon must run. @param {Record<string, unknown>} holder */
const entriesOf = (holder) =>
  Object.entries(Object.getOwnPropertyDescriptors(holder)).flatMap(([key, { enumerable, value }]) =>
    enumerable && value !== undefined ? [{ key, value }] : [],
  );

/** All parts of a call, at any depth. @param {unknown} value @returns {Place[]} */
const placesIn = (value) => {
  if (!isTree(value)) return [];
  // Spoils a long list in a few places, or in all.
  return entriesOf(value)
    .slice(0, 8)
    .flatMap(({ key, value: inner }) => [{ holder: value, key }, ...placesIn(inner)]);
};

/**
 * Copies, since ranges are shared between places and only one is to be spoilt. @template T @param {T} value
 * @returns {T}
 */
const copyOf = (value) => {
  if (!isTree(value)) return value;
  const copy = Array.isArray(value) ? new Array(value.length) : {};
  for (const { key, value: inner } of entriesOf(value))
    Object.defineProperty(copy, key, {
      value: copyOf(inner),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  return /** @type {T} */ (copy);
};

/** @param {Random} random @param {readonly Place[]} places */
const sideEffect = (random, places) => {
  const arrays = places.flatMap(({ holder, key }) => {
    const value = holder[key];
    return ArrayBuffer.isView(value) && value.buffer instanceof ArrayBuffer ? [value.buffer] : [];
  });
  const lists = places.flatMap(({ holder }) => (Array.isArray(holder) ? [holder] : []));
  return random.pick([
    () => {
      throw new Planted();
    },
    () => {
      const buffer = random.pick(arrays);
      if (buffer !== undefined && buffer.byteLength > 0) structuredClone(buffer, { transfer: [buffer] });
    },
    () => {
      const list = random.pick(lists);
      if (list !== undefined) list.length = random.below(list.length + 1);
    },
  ]);
};

/**
 * Ways to spoil a place; likely ways are repeated. Uses only descriptors of the fuzzer's files, or none, because other
 * descriptors belong to the process.
 *
 * @param {Random} random @param {Files} files @param {readonly Place[]} places @param {Place} place
 * @returns {(() => void)[]}
 */
const waysOf = (random, files, places, { holder, key }) => {
  const value = holder[key];
  /** @param {() => unknown} make */
  const set = (make) => () => {
    holder[key] = make();
  };
  const odd = set(() => random.pick(oddValues)());
  const remove = () => {
    delete holder[key];
  };
  const plant = () => {
    const effect = sideEffect(random, places);
    const get = () => {
      effect();
      return value;
    };
    Object.defineProperty(holder, key, { enumerable: true, configurable: true, get });
  };
  const ways = [odd, odd, remove, plant];
  if (key === 'fd') {
    const inputs = files.inputs.map(({ fd }) => fd);
    const other = set(() =>
      random.pick([...inputs, files.output, files.closed, -1, 0.5, 2 ** 31, Number.NaN]),
    );
    return [other, other, other, other, other, other, ...ways];
  }
  ways.push(
    set(() => {
      const from = random.pick(places);
      return copyOf(from.holder[from.key]);
    }),
  );
  if (typeof value === 'number') {
    const number = set(() => random.pick(oddNumbers));
    const near = set(() => value + random.pick([-1, 1, 8, -8, 0.5]));
    ways.push(number, number, number, number, near, near, near, near);
  }
  if (typeof value === 'string') {
    const name = set(() => random.pick(names));
    ways.push(name, name, name, name);
  }
  if (typeof value === 'bigint') ways.push(set(() => random.pick([0n, 2n ** 64n - 1n, 2n ** 64n, -1n])));
  if (value instanceof TypedArray) {
    const array = /** @type {Uint8Array} */ (value);
    const Same = /** @type {new (length: number) => unknown} */ (array.constructor);
    const { length } = array;
    ways.push(set(() => new Same(random.pick([0, Math.max(0, length - 1), length + 1, 2 * length]))));
  }
  if (Array.isArray(value) && value.length < 10_000)
    ways.push(
      () => {
        value.length = Math.max(0, value.length - 1);
      },
      () => value.push(...copyOf(value).slice(0, random.pick([1, 1, 2, 70]))),
    );
  return ways;
};

/** @param {Random} random @param {Files} files @param {Call} call @returns {Call} */
export const spoil = (random, files, { door, values }) => {
  const spoilt = copyOf(values);
  for (let times = random.pick([1, 1, 1, 2, 3]); times > 0; times -= 1) {
    const places = placesIn(spoilt);
    // The result must not refer to the given values.
    if (places.length > 0) random.pick(waysOf(random, files, places, random.pick(places)))();
  }
  return { door, values: spoilt };
};
