// @ts-check
// Valid calls of the native door, with results computed independently.
import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import { blockSizes, numbersOf, storedRow } from '../../fixtures/gguf-blocks.mjs';

/** @import { Random } from './random.mjs' */

/**
 * @typedef {{ readonly fd: number, readonly bytes: Buffer }} Input
 * @typedef {{ readonly inputs: readonly Input[], readonly output: number, readonly closed: number }} Files
 * @typedef {'run' | 'measure' | 'solve' | 'hash' | 'lock' | 'exchange'} Door
 * @typedef {object} Call
 * @property {Door} door
 * @property {unknown[]} values its arguments
 * @property {Buffer} [written] the expected output, if independent code computes it
 * @property {(nonFinite: readonly NonFinite[]) => boolean} [found] whether the given arrays and the watched
 * values have the expected contents
 * @property {readonly NonFinite[]} [nonFinite] the call's report on its watched values
 *
 * @typedef {{ watched: number, cause: number, element: number, number: number }} NonFinite
 */

/** @type {Record<string, number>} */
const widths = { BF16: 2, F16: 2, F32: 4, F64: 8, F8_E4M3: 1, F8_E5M2: 1 };
const dtypes = Object.keys(widths);

const widthOf = (/** @type {string} */ dtype) => widths[dtype] ?? 0;

const control = () => new BigInt64Array(new SharedArrayBuffer(24));

/**
 * `bytes` of a file, from byte `first` of a tensor.
 * @param {Random} random
 * @param {Files} files
 * @param {number} first
 * @param {number} bytes
 */
const locationOf = (random, files, first, bytes) => {
  const { fd, bytes: whole } = random.pick(
    files.inputs.filter((input) => input.bytes.length >= first + bytes),
  );
  const begin = random.below(whole.length - first - bytes + 1);
  return { at: { fd, begin }, bytes: whole.subarray(begin + first, begin + first + bytes) };
};

/** @param {Random} random @param {Files} files @param {{ first: number, count: number }} slice @param {string} dtype */
const sourceOf = (random, files, { first, count }, dtype) => {
  const width = widthOf(dtype);
  const { at, bytes } = locationOf(random, files, first * width, count * width);
  return { source: { ...at, dtype, slicing: 'elements' }, bytes };
};

/** Magnitudes of NaN and infinity begin with these. @type {Record<string, bigint>} */
const specials = {
  BF16: 0x7f80n,
  F16: 0x7c00n,
  F32: 0x7f80_0000n,
  F64: 0x7ff0_0000_0000_0000n,
  F8_E4M3: 0x7fn,
  F8_E5M2: 0x7cn,
};

/** The first element that is NaN or infinity; −1: none. @param {Buffer} bytes @param {string} dtype */
const firstNonFinite = (bytes, dtype) => {
  const width = widthOf(dtype);
  for (let at = 0; at < bytes.length; at += width) {
    let word = 0n;
    for (let byte = width - 1; byte >= 0; byte -= 1) word = (word << 8n) | BigInt(bytes[at + byte] ?? 0);
    if (BigInt.asUintN(8 * width - 1, word) >= (specials[dtype] ?? 0n)) return at / width;
  }
  return -1;
};

/** @param {Random} random */
const sizeOf = (random) => (random.chance(0.1) ? random.from(0, 60_000) : random.from(0, 600));

/** The output of a slice, in a file whose tensor begins at 0. @param {number} first @param {Buffer} bytes */
const behind = (first, bytes) =>
  bytes.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.alloc(first), bytes]);

/** @param {Random} random @param {Files} files @returns {Call} */
const copy = (random, files) => {
  const [count, first] = [sizeOf(random), random.below(1000)];
  const { at, bytes } = locationOf(random, files, first, count);
  const slice = { to: { fd: files.output, begin: 0 }, first, count };
  const job = random.chance(0.3)
    ? { kind: 'same', sources: random.list(random.from(1, 3), () => at), ...slice }
    : { kind: 'copy', source: at, ...slice };
  return { door: 'run', values: [job, control()], written: behind(first, bytes) };
};

const numberOf = (/** @type {Random} */ random) =>
  random.pick([0, 1, -1, 0.5, 1 / 3, -2.75, 1e-3, 1e30, random.word() / 2 ** 31 - 1]);

/** @param {Random} random @returns {'input' | 'output'} */
const rowsOf = (random) => (random.chance(0.5) ? 'input' : 'output');

/**
 * Rows of either source, of any dtype, sliced anywhere.
 * @param {Random} random
 * @param {Files} files
 * @returns {Call}
 */
const select = (random, files) => {
  const [columns, dtype, rows] = [random.from(1, 20), random.pick(dtypes), rowsOf(random)];
  const [first, count, width] = [random.below(50), random.below(200), widthOf(dtype)];
  const [a, b] = [0, 1].map(() => sourceOf(random, files, { first, count }, dtype));
  const matrixRows = Math.ceil((first + count) / columns);
  const kept = Uint8Array.from(random.list(rows === 'input' ? columns : matrixRows, () => random.below(2)));
  const written = Buffer.alloc(count * width);
  for (let at = 0; at < written.length; at += 1) {
    const element = first + Math.floor(at / width);
    const row = rows === 'input' ? element % columns : Math.floor(element / columns);
    written[at] = (kept[row] === 1 ? a : b)?.bytes[at] ?? 0;
  }
  const node = { kind: 'select', rows, kept, dtype, inputs: [0, 1] };
  const program = { sources: [a?.source, b?.source], nodes: [node], first, count, columns, watched: [] };
  const job = { kind: 'compute', program, outputs: [{ value: 2, fd: files.output, begin: 0, dtype }] };
  return { door: 'run', values: [job, control()], written: behind(first * width, written) };
};

/**
 * Ascending, disjoint runs of rows below `rows`: [to, what, count]. @param {Random} random @param {number}
 * rows @param {(count: number) => number} what
 */
const runsOf = (random, rows, what) => {
  const runs = [];
  for (let to = random.below(3); to < rows; ) {
    const count = Math.min(rows - to, random.from(1, random.chance(0.5) ? 1 : 9));
    runs.push([to, what(count), count]);
    to += count + (random.chance(0.6) ? 0 : random.below(4));
  }
  return runs;
};

/** The entry of the run with a row. @param {readonly number[][]} runs @param {number} row */
const runAt = (runs, row) => runs.find(([to = 0, , count = 0]) => to <= row && row < to + count);

/**
 * Reordered rows of several sources, sliced anywhere.
 * @param {Random} random
 * @param {Files} files
 * @returns {Call}
 */
const assemble = (random, files) => {
  const [width, dtype, rows] = [random.from(1, 20), random.pick(dtypes), random.from(1, 60)];
  const size = widthOf(dtype);
  const first = random.below(rows * width);
  const count = random.below(rows * width - first + 1);
  const sources = random.list(random.from(1, 3), () => {
    const stored = random.from(9, 30);
    const { at, bytes } = locationOf(random, files, 0, stored * width * size);
    const runs = runsOf(random, rows, (many) => random.below(stored - many + 1));
    return { at, bytes, runs };
  });
  const parts = runsOf(random, rows, () => random.below(sources.length));
  const written = Buffer.alloc(count * size);
  for (let at = 0; at < written.length; at += 1) {
    const byte = first * size + at;
    const row = Math.floor(byte / (width * size));
    const source = sources[runAt(parts, row)?.[1] ?? -1];
    const run = source && runAt(source.runs, row);
    if (source && run)
      written[at] =
        source.bytes[((run[1] ?? 0) + row - (run[0] ?? 0)) * width * size + (byte % (width * size))] ?? 0;
  }
  const flat = (/** @type {readonly number[][]} */ runs) => Float64Array.from(runs.flat());
  const program = {
    sources: sources.map(({ at, runs }) => ({ ...at, dtype, slicing: 'rows', width, runs: flat(runs) })),
    nodes: [{ kind: 'assemble', dtype, inputs: sources.map((_, index) => index), width, runs: flat(parts) }],
    ...{ first, count, columns: random.pick([width, 1, rows * width]), watched: [] },
  };
  const output = { value: sources.length, fd: files.output, begin: 0, dtype };
  return {
    door: 'run',
    values: [{ kind: 'compute', program, outputs: [output] }, control()],
    written: behind(first * size, written),
  };
};

/**
 * Σ weights·inputs over float32, by docs/numbers.md.
 * @param {Random} random
 * @param {Files} files
 * @returns {Call}
 */
const linear = (random, files) => {
  const slice = { count: Math.floor(sizeOf(random) / 4), first: random.below(100) };
  const sources = random.list(random.from(1, 4), () => sourceOf(random, files, slice, 'F32'));
  const weights = sources.map(() => numberOf(random));
  const written = Buffer.alloc(slice.count * 4);
  for (let i = 0; i < slice.count; i += 1) {
    let sum = 0;
    for (const [t, { bytes }] of sources.entries()) {
      const product = Math.fround(Math.fround(weights[t] ?? 0) * bytes.readFloatLE(i * 4));
      sum = t === 0 ? product : Math.fround(sum + product);
    }
    if (Number.isNaN(sum)) written.writeUInt32LE(0x7fc0_0000, i * 4);
    else written.writeFloatLE(sum, i * 4);
  }
  const node = { kind: 'linear', dtype: 'F32', inputs: sources.map((_, index) => index), weights };
  const job = {
    kind: 'compute',
    program: {
      sources: sources.map(({ source }) => source),
      nodes: [node],
      ...slice,
      columns: random.from(1, 50),
      watched: [],
    },
    outputs: [{ value: sources.length, fd: files.output, begin: 0, dtype: 'F32' }],
  };
  return { door: 'run', values: [job, control()], written: behind(4 * slice.first, written) };
};

/**
 * Rows of the products of experts, or of one product, by docs/numbers.md, sliced anywhere. @param {Random}
 * random @param {Files} files @returns {Call}
 */
const product = (random, files) => {
  const [rank, rows, columns] = [
    random.from(1, random.chance(0.2) ? 140 : 9),
    random.from(1, 20),
    random.from(1, 70),
  ];
  const experts = random.chance(0.5) ? 1 : random.from(2, 5);
  const matrixRows = experts === 1 ? rows : random.from(1, 20);
  const row = experts === 1 ? 0 : random.below(experts * matrixRows);
  const high = experts === 1 ? rows : experts * matrixRows - row;
  const transposed = random.chance(0.3);
  const [outputs, inputs] = transposed ? [columns, matrixRows] : [matrixRows, columns];
  const dtype = random.pick(['F8_E4M3', 'F8_E5M2']);
  const factor = (/** @type {number} */ elements) => {
    const { at, bytes } = locationOf(random, files, 0, elements);
    return { source: { ...at, dtype, slicing: 'whole', elements }, bytes };
  };
  const [ranks, grouped] = [rank * experts, random.chance(0.5)];
  const [a, b] = [factor(ranks * inputs), factor(outputs * ranks)];
  const first = random.below(high * columns);
  const count = random.below(high * columns - first + 1);
  const written = Buffer.alloc(count * 4);
  for (let i = 0; i < count; i += 1) {
    const [ofAll, column] = [row + Math.floor((first + i) / columns), (first + i) % columns];
    const [expert, inMatrix] = [Math.floor(ofAll / matrixRows), ofAll % matrixRows];
    const [output, input] = transposed ? [column, inMatrix] : [inMatrix, column];
    let total = 0;
    for (let from = 0; from < rank; from += 16) {
      let sum = 0;
      for (let k = from; k < Math.min(rank, from + 16); k += 1) {
        const term = Math.fround(
          byteIn(dtype, b.bytes[output * ranks + (grouped ? expert * rank + k : k * experts + expert)] ?? 0) *
            byteIn(dtype, a.bytes[(expert * rank + k) * inputs + input] ?? 0),
        );
        sum = k === from ? term : Math.fround(sum + term);
      }
      total = from === 0 ? sum : Math.fround(total + sum);
    }
    if (Number.isNaN(total)) written.writeUInt32LE(0x7fc0_0000, i * 4);
    else written.writeFloatLE(total, i * 4);
  }
  const node = { kind: 'product', rank, transposed, experts, row, grouped, dtype: 'F32', inputs: [0, 1] };
  const program = { sources: [a.source, b.source], nodes: [node], first, count, columns, watched: [] };
  const output = { value: 2, fd: files.output, begin: 0, dtype: 'F32' };
  const job = { kind: 'compute', program, outputs: [output] };
  return { door: 'run', values: [job, control()], written: behind(first * 4, written) };
};

/**
 * Small factors, or rows that are turned, sliced anywhere or between rows. @param {Random} random @param
 * {Files} files @returns {Call}
 */
const tuned = (random, files) => {
  const numbers = (/** @type {number} */ length) =>
    Float64Array.from({ length }, () => (random.below(201) - 100) / 64);
  const isTurned = random.chance(0.5);
  const size = random.from(1, 5);
  const [rows, columns] = [random.from(1, 9), random.from(1, 9) * size];
  const first = isTurned ? random.below(rows) * columns : random.below(rows * columns);
  const count = isTurned ? rows * columns - first : random.below(rows * columns - first + 1);
  const written = Buffer.alloc(count * 4);
  const write = (/** @type {number} */ i, /** @type {number} */ number) =>
    written.writeFloatLE(number, i * 4);
  const programOf = (/** @type {object[]} */ sources, /** @type {object} */ node) => ({
    ...{ sources, nodes: [{ ...node, dtype: 'F32' }], first, count, columns, watched: [] },
  });
  /** @param {object} program @param {number} value @returns {Call} */
  const runOf = (program, value) => {
    const output = { value, fd: files.output, begin: 0, dtype: 'F32' };
    const job = { kind: 'compute', program, outputs: [output] };
    return { door: 'run', values: [job, control()], written: behind(first * 4, written) };
  };
  if (!isTurned) {
    const rank = random.from(1, 4);
    const factor = { rows, columns, rank, numbers: numbers(rank * (rows + columns)) };
    const whole = { rows, columns, rank: 0, numbers: numbers(rows * columns) };
    for (let i = 0; i < count; i += 1) {
      const [row, column] = [Math.floor((first + i) / columns), (first + i) % columns];
      let sum = 0;
      for (let k = 0; k < rank; k += 1)
        sum +=
          (factor.numbers[row * rank + k] ?? 0) * (factor.numbers[rows * rank + k * columns + column] ?? 0);
      write(i, sum * (whole.numbers[first + i] ?? 0));
    }
    const node = { kind: 'factored', kronecker: false, factors: [factor, whole], inputs: [] };
    return runOf(programOf([], node), 0);
  }
  const blocks = random.from(1, columns / size + 1);
  const own = { size, numbers: numbers(blocks * size * size), order: new Float64Array(0) };
  const { at, bytes } = locationOf(random, files, first, count);
  for (let i = 0; i < count; i += 1) {
    const [begin, column] = [Math.floor(i / size) * size, i % size];
    const block = Math.floor((i % columns) / size) % blocks;
    let sum = 0;
    for (let k = 0; k < size; k += 1)
      sum +=
        byteIn('F8_E4M3', bytes[begin + k] ?? 0) * (own.numbers[(block * size + k) * size + column] ?? 0);
    if (Number.isNaN(sum)) written.writeUInt32LE(0x7fc0_0000, i * 4);
    else write(i, sum);
  }
  const source = { ...at, dtype: 'F8_E4M3', slicing: 'elements' };
  return runOf(programOf([source], { kind: 'turned', ...own, inputs: [0] }), 1);
};

/** The numbers of bitsandbytes' tables (its get_4bit_type). @type {Record<string, readonly number[]>} */
const tables = {
  E2M1: [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6],
  NF4: [
    ...[-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635],
    ...[-0.18477343022823334, -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725],
    ...[0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941],
    ...[0.7229568362236023, 1],
  ],
  FP4: [1, -1].flatMap((sign) =>
    [0, 0.0625, 8, 12, 4, 6, 2, 3].map((number) => Math.fround((sign * number) / 12)),
  ),
};

/**
 * Codes of matrices, and a function that decodes the number at a row (over all matrices) and column.
 * @param {Random} random
 * @param {readonly string[]} kinds
 * @param {{ matrices: number, rows: number, width: number }} of
 */
const codesOf = (random, kinds, { matrices, rows, width }) => {
  const codes = random.pick(kinds);
  const bits = ['E2M1', 'U4', 'NF4', 'FP4'].includes(codes) ? 4 : 8;
  const orders = bits === 4 ? ['across', 'swapped', 'interleaved', 'down'] : ['across'];
  const order = random.pick(codes === 'I8' || codes === 'U8' ? ['across', 'down'] : orders);
  const unit = order === 'interleaved' ? 8 : bits === 4 && order !== 'down' ? 2 : 1;
  const stride = (Math.ceil(width / unit) + random.below(3)) * unit;
  const [inWord, rowsOfWords] = [32 / bits, Math.ceil((rows * bits) / 32)];
  const bytes =
    order === 'down' ? matrices * rowsOfWords * stride * 4 : (matrices * rows * stride * bits) / 8;
  /**
   * The lowest bit of a code, counted from the first byte's lowest. @param {number} row @param {number}
   * column
   */
  const bitAt = (row, column) => {
    const [matrix, inMatrix] = [Math.floor(row / rows), row % rows];
    if (order === 'down')
      return (
        ((matrix * rowsOfWords + Math.floor(inMatrix / inWord)) * stride + column) * 32 +
        (inMatrix % inWord) * bits
      );
    const at = row * stride + column;
    if (order === 'interleaved') return (at - (at % 8)) * 4 + [0, 2, 4, 6, 1, 3, 5, 7].indexOf(at % 8) * 4;
    return (order === 'swapped' ? at ^ 1 : at) * bits;
  };
  /** @param {Buffer} data @param {number} row @param {number} column */
  const numberAt = (data, row, column) => {
    const bit = bitAt(row, column);
    const code = ((data[bit >> 3] ?? 0) >> (bit & 7)) & (2 ** bits - 1);
    if (codes === 'I8') return code > 127 ? code - 256 : code;
    if (codes === 'U8' || codes === 'U4') return code - 2 ** (bits - 1);
    return tables[codes]?.[code] ?? byteIn(codes, code);
  };
  return { how: { codes, order, rows, width, stride }, bytes, numberAt };
};

/** A quantised tensor, sliced anywhere. @param {Random} random @param {Files} files @returns {Call} */
const dequantise = (random, files) => {
  // Some are larger than what is transposed at once.
  const most = random.pick([
    [12, 20],
    [12, 90],
    [150, 12],
    [90, 290],
  ]);
  const of = {
    matrices: random.from(1, 3),
    rows: random.from(1, most[0] ?? 1),
    width: random.from(1, most[1] ?? 1),
  };
  const { matrices, rows, width } = of;
  const codes = codesOf(random, ['F8_E4M3', 'F8_E5M2', 'I8', 'U8', 'E2M1', 'U4', 'NF4', 'FP4'], of);
  const [blockRows, blockColumns] = [random.from(1, 14), random.from(1, 25)];
  const [down, across] = [Math.ceil(rows / blockRows), Math.ceil(width / blockColumns)];
  const scales = random.pick(['floats', 'exponents', 'nested']);
  const factor = random.pick(['none', 'times', 'divisor']);
  const zeros = random.chance(0.4)
    ? codesOf(random, ['I8', 'U8', 'U4'], { matrices, rows: down, width: across })
    : undefined;
  const oneMore = zeros !== undefined && zeros.how.codes !== 'I8' && random.chance(0.5);
  const nested = scales === 'nested' ? { block: random.from(1, 9), offset: numberOf(random) } : null;
  const after = random.pick([1, 1, Math.fround(1 / 127)]);
  const transposed = random.chance(0.4);
  /** @type {object[]} */
  const sources = [];
  const whole = (/** @type {number} */ elements) => {
    const { at, bytes } = locationOf(random, files, 0, elements);
    sources.push({ ...at, dtype: 'F8_E5M2', slicing: 'whole', elements });
    return bytes;
  };
  const stored = whole(codes.bytes);
  const ofBlocks = whole(matrices * down * across);
  const ofAll = factor === 'none' ? undefined : whole(1);
  const ofZeros = zeros && whole(zeros.bytes);
  const numbers = nested && whole(256);
  const ofNested = nested && whole(Math.ceil((matrices * down * across) / nested.block));
  const elements = matrices * rows * width;
  const first = random.below(elements);
  const count = random.below(elements - first + 1);
  const floating = (/** @type {Buffer | null | undefined} */ bytes, /** @type {number} */ at) =>
    byteIn('F8_E5M2', bytes?.[at] ?? 0);
  const scale = (/** @type {number} */ at) => {
    const byte = ofBlocks[at] ?? 0;
    let own = floating(ofBlocks, at);
    if (scales === 'exponents') own = byte === 255 ? Number.NaN : 2 ** (byte - 127);
    if (nested !== null)
      own = Math.fround(
        Math.fround(floating(numbers, byte) * floating(ofNested, Math.floor(at / nested.block))) +
          Math.fround(nested.offset),
      );
    const all = floating(ofAll, 0);
    return factor === 'none' ? own : Math.fround(factor === 'times' ? own * all : own / all);
  };
  const zero = (/** @type {number} */ row, /** @type {number} */ column) => {
    if (zeros === undefined || ofZeros === undefined) return 0;
    const found = zeros.numberAt(ofZeros, row, column);
    const most = zeros.how.codes === 'U4' ? 7 : 127;
    return !oneMore ? found : found === most ? -most - 1 : found + 1;
  };
  const written = Buffer.alloc(count * 4);
  for (let i = 0; i < count; i += 1) {
    const [matrix, place] = [Math.floor((first + i) / (rows * width)), (first + i) % (rows * width)];
    const [row, column] = transposed
      ? [place % rows, Math.floor(place / rows)]
      : [Math.floor(place / width), place % width];
    const [rowOfBlocks, block] = [
      matrix * down + Math.floor(row / blockRows),
      Math.floor(column / blockColumns),
    ];
    const code = codes.numberAt(stored, matrix * rows + row, column);
    const number = zeros === undefined ? code : Math.fround(code - zero(rowOfBlocks, block));
    const value = Math.fround(Math.fround(number * scale(rowOfBlocks * across + block)) * after);
    if (Number.isNaN(value)) written.writeUInt32LE(0x7fc0_0000, i * 4);
    else written.writeFloatLE(value, i * 4);
  }
  const node = {
    kind: 'dequantise',
    ...codes.how,
    ...{ scales, factor, blockRows, blockColumns, transposed, nested, after },
    zeros: zeros === undefined ? null : { ...zeros.how, oneMore },
    groups: false,
    dtype: 'F32',
    inputs: sources.map((_, index) => index),
  };
  const columns = transposed ? rows : random.pick([width, 1, rows * width]);
  const program = { sources, nodes: [node], first, count, columns, watched: [] };
  const output = { value: sources.length, fd: files.output, begin: 0, dtype: 'F32' };
  return {
    door: 'run',
    values: [{ kind: 'compute', program, outputs: [output] }, control()],
    written: behind(first * 4, written),
  };
};

/** A tensor in GGUF's blocks, sliced anywhere. @param {Random} random @param {Files} files @returns {Call} */
const unpack = (random, files) => {
  const type = random.pick(Object.keys(blockSizes));
  const [inBlock = 1, bytesOfBlock = 1] = blockSizes[type] ?? [];
  const width = inBlock * random.from(1, inBlock === 1 ? 40 : 3);
  const head = random.pick([0, 0, 2, 4, 6]);
  const rows = head === 0 ? random.from(1, 9) : head * random.from(1, 3);
  const plus = random.pick([0, 0, -1, 0.5]);
  const { at, bytes } = locationOf(random, files, 0, (rows * width * bytesOfBlock) / inBlock);
  const numbers = numbersOf(type, bytes);
  const elements = rows * width;
  const first = random.below(elements);
  const count = random.below(elements - first + 1);
  const written = Buffer.alloc(count * 4);
  for (let i = 0; i < count; i += 1) {
    const [row, column] = [Math.floor((first + i) / width), (first + i) % width];
    const number = numbers[storedRow(row, head) * width + column] ?? 0;
    const value = plus === 0 ? number : Math.fround(number + plus);
    if (Number.isNaN(value)) written.writeUInt32LE(0x7fc0_0000, i * 4);
    else written.writeFloatLE(value, i * 4);
  }
  const source = { ...at, dtype: 'F8_E5M2', slicing: 'whole', elements: bytes.length };
  const node = { kind: 'unpack', type, width, head, plus, dtype: 'F32', inputs: [0] };
  const columns = random.pick([width, 1, elements]);
  const program = { sources: [source], nodes: [node], first, count, columns, watched: [] };
  const output = { value: 1, fd: files.output, begin: 0, dtype: 'F32' };
  return {
    door: 'run',
    values: [{ kind: 'compute', program, outputs: [output] }, control()],
    written: behind(first * 4, written),
  };
};

/** Rounds to the nearest integer, ties to even. @param {number} x */
const toEven = (x) => {
  const below = Math.floor(x);
  const even = x - below === 0.5 ? below + (below % 2 === 0 ? 0 : 1) : Math.round(x);
  // -1/2 rounds to -0: the sign stays.
  return even === 0 && x < 0 ? -0 : even;
};

/** Rounds to the nearest number of E2M1, ties to the even code. @param {number} x */
const toE2M1 = (x) => {
  const unit = Math.abs(x) < 2 ? 0.5 : Math.abs(x) < 4 ? 1 : 2;
  return toEven(x / unit) * unit;
};

/** Rules for a block, for schemes of integers and of E2M1 with powers of two. */
const blockRules = {
  /** @param {readonly number[]} block */
  int8: (block) => {
    const scale = Math.fround(largestOf(block) / 127.5) || 2 ** -23;
    return {
      scale,
      codeOf: (/** @type {number} */ x) => toEven(Math.min(127, Math.max(-128, Math.fround(x / scale)))),
    };
  },
  /** @param {readonly number[]} block */
  int4: (block) => {
    const scale = Math.fround(largestOf(block) / 7.5) || 2 ** -23;
    return {
      scale,
      codeOf: (/** @type {number} */ x) => toEven(Math.min(7, Math.max(-8, Math.fround(x / scale)))),
    };
  },
  /** @param {readonly number[]} block */
  mxfp4: (block) => {
    const bits = new Uint32Array(Float32Array.of(largestOf(block)).buffer)[0] ?? 0;
    const scale = 2 ** Math.min(127, Math.max(-127, ((bits + 2 ** 21) >>> 23) - 129));
    return {
      scale,
      codeOf: (/** @type {number} */ x) => toE2M1(Math.min(6, Math.max(-6, Math.fround(x / scale)))),
    };
  },
};

const largestOf = (/** @type {readonly number[]} */ block) =>
  block.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

/**
 * A matrix to quantise, sliced between rows of blocks.
 * @param {Random} random
 * @param {Files} files
 * @returns {Call}
 */
const quantise = (random, files) => {
  const scheme = /** @type {'int8' | 'int4' | 'mxfp4'} */ (random.pick(['int8', 'int4', 'mxfp4']));
  const [rows, columns] = [random.from(1, 12), random.from(1, random.chance(0.2) ? 90 : 20)];
  const [blockRows, blockColumns] = [random.from(1, 14), random.from(1, 25)];
  const top = blockRows * random.below(Math.ceil(rows / blockRows));
  const bottom = Math.min(rows, top + blockRows * random.from(1, 3));
  const [first, count] = [top * columns, (bottom - top) * columns];
  const codes = scheme === 'int8' && random.chance(0.5);
  const { source, bytes } = sourceOf(random, files, { first, count }, 'F8_E5M2');
  const numbers = [...bytes].map((byte) => byteIn('F8_E5M2', byte));
  const across = Math.ceil(columns / blockColumns);
  const scaleBytes = Buffer.alloc(4 * Math.ceil((bottom - top) / blockRows) * across);
  const made = Buffer.alloc(count * (codes ? 1 : 4));
  for (let band = 0; band * blockRows < bottom - top; band += 1)
    for (let at = 0; at < across; at += 1) {
      /** @type {number[]} */
      const places = [];
      for (let row = band * blockRows; row < Math.min(bottom - top, (band + 1) * blockRows); row += 1)
        for (let column = at * blockColumns; column < Math.min(columns, (at + 1) * blockColumns); column += 1)
          places.push(row * columns + column);
      const block = places.map((place) => numbers[place] ?? 0);
      const isWhole = block.every((x) => Number.isFinite(x));
      const { scale, codeOf } = blockRules[scheme](isWhole ? block : [0]);
      // With NaN or infinity, the scale may be anything, and is not checked here.
      if (!isWhole) return linear(random, files);
      scaleBytes.writeFloatLE(scale, 4 * (band * across + at));
      for (const place of places) {
        const code = codeOf(numbers[place] ?? 0);
        if (codes) made.writeInt8(code, place);
        // E2M1 has a zero of either sign.
        else made.writeFloatLE(code === 0 && scheme !== 'mxfp4' ? 0 : Math.fround(code * scale), 4 * place);
      }
    }
  const dtype = codes ? 'F8_E4M3' : 'F32';
  const how = { kind: 'quantise', scheme, codes, rows, blockRows, blockColumns, largest: 0 };
  const program = {
    sources: [source],
    nodes: [{ ...how, dtype, inputs: [0] }],
    first,
    count,
    columns,
    watched: [],
  };
  const [wanted, begin, behindThem] = random.chance(0.5)
    ? [{ value: 1, dtype, fd: files.output, begin: 0 }, first * widthOf(dtype), made]
    : [
        { value: 1, dtype: 'F32', scales: true, fd: files.output, begin: 0 },
        4 * (top / blockRows) * across,
        scaleBytes,
      ];
  return {
    door: 'run',
    values: [{ kind: 'compute', program, outputs: [wanted] }, control()],
    written: behind(begin, behindThem),
  };
};

/** Decodes a number of one byte. @param {string} dtype @param {number} byte */
const byteIn = (dtype, byte) => {
  const [mantissaBits, bias] = dtype === 'F8_E4M3' ? [3, 7] : [2, 15];
  const magnitude = byte & 127;
  const sign = byte > 127 ? -1 : 1;
  if (dtype === 'F8_E4M3' ? magnitude === 127 : magnitude > 124) return Number.NaN;
  if (dtype === 'F8_E5M2' && magnitude === 124) return sign * Number.POSITIVE_INFINITY;
  const exponent = magnitude >> mantissaBits;
  const mantissa = (magnitude & (2 ** mantissaBits - 1)) / 2 ** mantissaBits;
  return sign * (exponent === 0 ? mantissa * 2 ** (1 - bias) : (1 + mantissa) * 2 ** (exponent - bias));
};

/** A slice of whole rows. @param {Random} random */
const sliceOf = (random) => {
  const columns = random.from(1, random.chance(0.1) ? 1300 : 40);
  const count = columns * random.from(0, Math.max(1, Math.floor(1600 / columns)));
  return { columns, count, first: columns * random.below(4) };
};

/** @typedef {{ columns: number, count: number, first: number }} Slice */

/** @type {Record<string, (random: Random, slice: Slice, dtypes: readonly string[]) => { inputs: number[], dtype?: string }>} */
const operations = {
  linear: (random, _, { length }) => {
    const inputs = random.list(random.from(1, 4), () => random.below(length));
    return { inputs, weights: inputs.map(() => numberOf(random)) };
  },
  rowLinear: (random, slice, { length }) => {
    const inputs = random.list(random.from(1, 3), () => random.below(length));
    const rows = rowsOf(random);
    return { inputs, rows, weights: Float64Array.from(tableOf(random, slice, rows, inputs.length)) };
  },
  keep: (random, _, { length }) => ({
    inputs: random.list(2, () => random.below(length)),
    lower: boundOf(random),
    upper: boundOf(random),
    scale: numberOf(random),
  }),
  drop: (random, _, { length }) => ({
    inputs: [random.below(length)],
    key: keyOf(random),
    probability: 0.5,
    scale: numberOf(random),
  }),
  dropRanked: (random, _, { length }) => ({
    inputs: [random.below(length)],
    key: keyOf(random),
    lowest: -0.1,
    highest: 1.1,
    scale: numberOf(random),
  }),
  random: (random) => ({
    inputs: [],
    key: keyOf(random),
    distribution: random.pick(['normal', 'uniform']),
    scale: numberOf(random),
  }),
  vote: (random, _, { length }) => {
    const inputs = random.list(random.from(2, 5), () => random.below(length));
    const weights = () => inputs.slice(1).map(() => numberOf(random));
    const rest = { inputs, least: random.pick([0, 1e-6]), scale: numberOf(random) };
    if (random.chance(0.3))
      return { ...rest, weights: [...weights(), ...weights()], election: 'each', divisor: 'count' };
    const tie = random.pick(['positive', 'negative']);
    return {
      ...rest,
      weights: weights(),
      election: random.chance(0.3) ? null : { weighted: random.chance(0.5), tie },
      divisor: random.pick(['none', 'weights', 'count']),
    };
  },
  variance: (random, _, { length }) => ({
    inputs: random.list(random.from(1, 4), () => random.below(length)),
  }),
  nearSwap: (random, _, { length }) => ({
    inputs: random.list(2, () => random.below(length)),
    t: numberOf(random),
  }),
  fisher: (random, _, { length }) => {
    const weights = random.list(random.from(1, 3), () => numberOf(random));
    const inputs = random.list(2 * weights.length, () => random.below(length));
    return { inputs, weights, eps: random.pick([1e-6, 1e-30, 0]) };
  },
  importance: (random, slice, { length }) => ({
    inputs: random.list(2, () => random.below(length)),
    divergences: Float64Array.from(tableOf(random, slice, 'output', 1)),
  }),
  assemble: (random, { columns, count, first }, known) => {
    const a = random.below(known.length);
    const rows = Math.ceil((first + count) / columns);
    const runs = Float64Array.from(runsOf(random, rows, () => 0).flat());
    return { inputs: [a], dtype: known[a] ?? '', width: columns, runs };
  },
  fillRows: (random, { columns }, known) => {
    const a = random.below(known.length);
    const values = Float64Array.from(random.list(columns, () => numberOf(random)));
    return { inputs: [a], dtype: known[a] ?? '', from: random.below(9), values };
  },
  select: (random, slice, known) => {
    const a = random.below(known.length);
    const alike = known.flatMap((dtype, id) => (dtype === known[a] ? [id] : []));
    const rows = rowsOf(random);
    const kept = Uint8Array.from(tableOf(random, slice, rows, 1), (number) => number * 2);
    return { inputs: [a, random.pick(alike)], dtype: known[a] ?? '', rows, kept };
  },
};

const keyOf = (/** @type {Random} */ random) => (BigInt(random.word()) << 32n) | BigInt(random.word());

const boundOf = (/** @type {Random} */ random) => ({
  bits: random.word(),
  cutoff: random.below(2000),
  early: random.chance(0.5),
});

/**
 * Numbers for a slice's rows. @param {Random} random @param {Slice} slice @param {'input' | 'output'} rows
 * @param {number} each
 */
const tableOf = (random, { columns, count, first }, rows, each) =>
  random.list(
    each * (rows === 'input' ? columns : Math.ceil((first + count) / columns)),
    () => random.below(3) / 2,
  );

/**
 * A node that follows values of the given dtypes. @param {Random} random @param {readonly string[]} known
 * @param {Slice} slice
 */
const nodeOf = (random, known, slice) => {
  const [kind, make] = random.pick(Object.entries(operations));
  return { kind, dtype: random.pick(dtypes), ...make(random, slice, known) };
};

/** @param {Random} random @param {Files} files */
const programOf = (random, files) => {
  const slice = sliceOf(random);
  const known = random.list(random.from(1, 4), () => random.pick(dtypes));
  const found = known.map((dtype) => sourceOf(random, files, slice, dtype));
  const sources = found.map(({ source }) => source);
  const nodes = random.list(random.from(1, 5), () => {
    const node = nodeOf(random, known, slice);
    known.push(node.dtype);
    return node;
  });
  const watched = known.map((_, value) => value).filter(() => random.chance(0.3));
  /**
   * Checks sources only: just the nodes themselves know their values. @param {readonly NonFinite[]} nonFinite
   */
  const tells = (nonFinite) =>
    found.every(({ bytes }, source) => {
      const at = firstNonFinite(bytes, known[source] ?? '');
      const told = nonFinite.find((one) => one.watched === source);
      if (at === -1 || !watched.includes(source)) return told === undefined;
      return told?.element === slice.first + at && told.cause === source && !Number.isFinite(told.number);
    });
  const scattered = random.chance(0.5) ? { scattered: true } : {};
  return { program: { sources, nodes, ...slice, watched, ...scattered }, dtypes: known, tells };
};

/** @param {Random} random @param {Files} files @returns {Call} */
const compute = (random, files) => {
  const { program, dtypes: known, tells } = programOf(random, files);
  const values = new Set(random.list(random.from(1, 3), () => random.below(known.length)));
  let begin = 0;
  const outputs = [...values].map((value) => {
    const output = { value, fd: files.output, begin, dtype: known[value] ?? '' };
    begin += (program.first + program.count) * widthOf(output.dtype);
    return output;
  });
  return { door: 'run', values: [{ kind: 'compute', program, outputs }, control()], found: tells };
};

/** Keeps every number as it is. */
const everything = {
  lower: { bits: 0, cutoff: 2 ** 40, early: true },
  upper: { bits: 0xffff_ffff, cutoff: 0, early: true },
  scale: 1,
};

/**
 * A vote on pruned differences, computed by one kernel, and the same in steps: nodes between keep them apart.
 * @param {Random} random @param {Files} files @returns {Call}
 */
const prunedVote = (random, files) => {
  const slice = { first: random.below(100), count: Math.floor(sizeOf(random) / 8), columns: 1 };
  const dtype = random.pick(['BF16', 'F16', 'F32', 'F32', 'F64']);
  const read = random.list(random.from(2, 7), () => sourceOf(random, files, slice, dtype));
  const sources = read.map(({ source }) => source);
  /** @type {object[]} */
  const nodes = [];
  const add = (/** @type {object} */ node) => sources.length + nodes.push(node) - 1;
  const keep = (/** @type {number} */ value, /** @type {object} */ how) =>
    add({ kind: 'keep', dtype: 'F32', inputs: [value, value], ...how });
  const changes = sources.slice(1).map((_, at) => {
    const value = add({ kind: 'linear', dtype: 'F32', inputs: [at + 1, 0], weights: [1, -1] });
    if (random.chance(0.2)) return value;
    const upper = random.chance(0.5) ? boundOf(random) : everything.upper;
    return keep(value, { lower: boundOf(random), upper, scale: numberOf(random) });
  });
  const apart = random.chance(0.8) ? changes.map((value) => keep(value, everything)) : [];
  const rule = { ...operations['vote']?.(random, slice, [dtype]), dtype };
  const count = 'election' in rule && rule.election === 'each' ? 2 * changes.length : changes.length;
  const weights = random.list(count, () => (random.chance(0.5) ? 0.5 : numberOf(random)));
  const width = widthOf(dtype);
  const end = (slice.first + slice.count) * width;
  const outputs = [changes, apart]
    .filter((votes) => votes.length > 0)
    .map((votes, index) => {
      const value = add({ kind: 'vote', ...rule, weights, inputs: [0, ...votes] });
      return { value, fd: files.output, begin: index * end, dtype };
    });
  const written = (/** @type {number} */ begin) => {
    const bytes = Buffer.alloc(slice.count * width);
    readSync(files.output, bytes, 0, bytes.length, begin + slice.first * width);
    return bytes;
  };
  return {
    door: 'run',
    values: [
      {
        kind: 'compute',
        program: { sources, nodes, ...slice, watched: sources.map((_, source) => source) },
        outputs,
      },
      control(),
    ],
    found: (nonFinite) =>
      outputs.every(({ begin }) => written(begin).equals(written(0))) &&
      read.every(({ bytes }, source) => {
        const at = firstNonFinite(bytes, dtype);
        return (
          nonFinite.find(({ watched }) => watched === source)?.element ===
          (at === -1 ? undefined : slice.first + at)
        );
      }),
  };
};

/** @param {unknown} program @param {readonly unknown[]} measures @param {readonly number[]} sizes @returns {unknown[]} */
const measuring = (program, measures, sizes) => [
  { program, measures },
  sizes.map((size) => new Float64Array(size)),
  control(),
];

/** @param {Random} random @param {Files} files @returns {Call} */
const analysis = (random, files) => {
  const slice = sliceOf(random);
  const sources = random.list(
    random.from(2, 4),
    () => sourceOf(random, files, slice, random.pick(dtypes)).source,
  );
  const experts = sources.slice(1).map((_, index) => 1 + index);
  const differences = experts.map((expert) => sources.length - 1 + expert);
  const nodes = experts.map((expert) => ({
    kind: 'linear',
    dtype: 'F32',
    inputs: [expert, 0],
    weights: [1, -1],
  }));
  const kind = random.pick(['rowMagnitudes', 'columnMagnitudes']);
  const size = kind === 'rowMagnitudes' ? slice.count / slice.columns : slice.columns;
  const measures = [
    ...differences.map((value) => ({ kind, value })),
    { kind: 'nonFinite', base: 0, experts, differences },
    ...(random.chance(0.5) ? [{ kind: 'overlaps', values: differences }] : []),
  ];
  const sizes = [...experts.map(() => size), sources.length, (3 * experts.length * sources.length) / 2];
  return {
    door: 'measure',
    values: measuring({ sources, nodes, ...slice, watched: [] }, measures, sizes.slice(0, measures.length)),
  };
};

/**
 * Counts elements of float32 with a magnitude. @param {Random} random @param {Files} files @returns {Call}
 */
const countMagnitude = (random, files) => {
  const slice = sliceOf(random);
  const { source, bytes } = sourceOf(random, files, slice, 'F32');
  const magnitudes = random.list(slice.count, (index) => bytes.readUInt32LE(index * 4) & 0x7fff_ffff);
  // Widening by arithmetic loses NaN payloads.
  const finite = magnitudes.filter((bits) => bits < 0x7f80_0000);
  const bits = finite.length > 0 ? random.pick(finite) : 0;
  const out = [new Float64Array(1)];
  const program = { sources: [source], nodes: [], ...slice, watched: [] };
  return {
    door: 'measure',
    values: [{ program, measures: [{ kind: 'countMagnitude', value: 0, bits }] }, out, control()],
    found: () => out[0]?.[0] === finite.filter((other) => other === bits).length,
  };
};

/** @type {Record<string, (random: Random, slice: Slice, values: number) => { measure: object, size: number }>} */
const measures = {
  ...Object.fromEntries(
    ['gram', 'rowGram', 'columnGram'].map((kind) => [
      kind,
      (
        /** @type {Random} */ random,
        /** @type {Slice} */ { count, columns },
        /** @type {number} */ length,
      ) => {
        const values = random.list(random.from(1, 3), () => random.below(length));
        const each = kind === 'gram' ? 1 : kind === 'rowGram' ? count / columns : columns;
        return { measure: { values }, size: (each * values.length * (values.length + 1)) / 2 };
      },
    ]),
  ),
  magnitudes: (random, _, length) => ({ measure: { value: random.below(length) }, size: 1 }),
  signs: (random, _, length) => ({ measure: { value: random.below(length) }, size: 1 }),
  countAlone: (random, _, length) => {
    const values = random.list(random.from(1, 3), () => random.below(length));
    return { measure: { values, bits: random.pick([0, random.word()]) }, size: 2 * values.length };
  },
  countMagnitude: (random, _, length) => ({ measure: { value: random.below(length), bits: 0 }, size: 1 }),
  findMagnitude: (random, _, length) => {
    const bits = random.pick([0, random.word()]);
    return { measure: { value: random.below(length), bits, ordinal: random.from(1, 9) }, size: 1 };
  },
  divergence: (random, { count, columns }, length) => ({
    measure: { value: random.below(length), base: random.below(length) },
    size: count / columns,
  }),
  histogram: (random, _, length) => {
    const bins = 1 + random.below(300);
    const shift = random.from(8, 23);
    const low = random.from(1, 0x7000_0000);
    const last = Math.min(0x7fff_ffff, low + bins * 2 ** shift - 1);
    const candidates = random.list(random.below(5), () => random.from(low, last));
    const counts = new Uint32Array(new SharedArrayBuffer(4 * bins));
    const window = { low, last, shift, candidates };
    return { measure: { value: random.below(length), window, counts }, size: 5 };
  },
};

/** @param {Random} random @param {Files} files @returns {Call} */
const measure = (random, files) => {
  const { program, dtypes: known } = programOf(random, files);
  const kinds = Object.entries(measures);
  // Here blocks are cut differently.
  const alike = random.chance(0.2)
    ? kinds.filter(([kind]) => kind === 'rowGram')
    : kinds.filter(([kind]) => kind !== 'rowGram');
  const wanted = random.list(random.from(1, 3), () => {
    const [kind, make] = random.pick(alike);
    const { measure: one, size } = make(random, program, known.length);
    return { measure: { kind, ...one }, size };
  });
  return {
    door: 'measure',
    values: measuring(
      program,
      wanted.map((one) => one.measure),
      wanted.map(({ size }) => size),
    ),
  };
};

/**
 * Compares the bits of two values of one dtype, or of a value and itself. The only measure in its call.
 * @param {Random} random
 * @param {Files} files
 * @returns {Call}
 */
const difference = (random, files) => {
  const { program, dtypes: known } = programOf(random, files);
  const a = random.below(known.length);
  const numbers = random.chance(0.7);
  const b = numbers ? random.below(known.length) : a;
  const one = { kind: 'difference', a, b, numbers, equalBlocks: random.chance(0.5) };
  return { door: 'measure', values: measuring(program, [one], [8]) };
};

/**
 * Factorises a small matrix, with room for factors of any rank. @param {Random} random @param {Files} files
 * @returns {Call}
 */
const factorise = (random, files) => {
  const [rows, columns] = [random.from(1, 40), random.from(1, 40)];
  const slice = { first: 0, count: rows * columns, columns };
  const sources = random.list(2, () => sourceOf(random, files, slice, random.pick(dtypes)).source);
  const nodes = [{ kind: 'linear', dtype: 'F32', inputs: [0, 1], weights: [1, -1] }];
  const rank = random.from(1, Math.min(rows, columns));
  const dtype = random.pick(['BF16', 'F16', 'F32']);
  const what = {
    kind: 'factorise',
    program: { sources, nodes, ...slice, watched: [] },
    ...{ value: random.below(3), rank, dtype, transposed: random.chance(0.5) },
    share: random.pick([1, 0.9, 0.01]),
    key: BigInt(random.word()),
    left: { fd: files.output, begin: 0 },
    right: { fd: files.output, begin: rows * rank * widthOf(dtype) },
  };
  return { door: 'solve', values: [what, new Float64Array(4 + rank), control()] };
};

/**
 * Small matrices, and numbers that rarely form Gram matrices. @param {Random} random @param {Files} files
 * @returns {Call}
 */
const regress = (random, files) => {
  const [rows, columns] = [random.from(1, 40), random.from(1, 40)];
  const models = random.from(1, 3);
  const programOf = (/** @type {number} */ count) => {
    const slice = { first: 0, count, columns };
    const sources = random.list(models, () => sourceOf(random, files, slice, random.pick(dtypes)).source);
    return { sources, nodes: [], ...slice, watched: random.list(models, (index) => index) };
  };
  const what = {
    kind: 'regress',
    matrices: programOf(rows * columns),
    grams: programOf(columns * columns),
    values: random.list(models, () => random.below(models)),
    of: random.list(models, () => random.below(models)),
    shares: random.list(models, () => 1 / models),
    ...{ scaling: random.pick([0, 0.9, 1]), ridge: random.pick([0, 1e-6, 1e3]) },
    ...{ dtype: random.pick(dtypes), to: { fd: files.output, begin: 0 } },
  };
  return { door: 'solve', values: [what, new Float64Array(3), control()] };
};

/** Small matrices with numbers of any size. @param {Random} random @param {Files} files @returns {Call} */
const mergeSpectra = (random, files) => {
  const [rows, columns] = [random.from(1, 40), random.from(1, 40)];
  const slice = { first: 0, count: rows * columns, columns };
  const models = random.from(1, 3);
  const sources = random.list(models, () => sourceOf(random, files, slice, random.pick(dtypes)).source);
  const what = {
    kind: 'mergeSpectra',
    program: { sources, nodes: [], ...slice, watched: random.list(models, (index) => index) },
    rule: random.pick(['iso_c', 'tsv_m']),
    base: random.below(models),
    sources: random.list(random.from(1, 3), () => random.below(models)),
    ...{ scale: random.pick([0, 1, -0.3]), dtype: random.pick(dtypes) },
    to: { fd: files.output, begin: 0 },
  };
  return { door: 'solve', values: [what, new Float64Array(0), control()] };
};

/** Sums of rows, sliced anywhere, in float64. @param {Random} random @param {Files} files @returns {Call} */
const combineRows = (random, files) => {
  const [width, rows, stored] = [random.from(1, 20), random.from(1, 12), random.from(1, 8)];
  const first = random.below(rows * width);
  const count = random.from(1, rows * width - first);
  const dtype = random.pick(['BF16', 'F32']);
  const all = sourceOf(random, files, { first: 0, count: stored * width }, dtype);
  const starts = [0];
  /** @type {number[]} */
  const terms = [];
  for (let row = 0; row < rows; row += 1) {
    for (const _ of random.list(random.below(4), () => 0))
      terms.push(random.below(stored), random.pick([1, -0.5, 3]));
    starts.push(terms.length / 2);
  }
  const at = (/** @type {number} */ element) =>
    dtype === 'F32'
      ? all.bytes.readFloatLE(element * 4)
      : Buffer.from([0, 0, ...all.bytes.subarray(element * 2, element * 2 + 2)]).readFloatLE(0);
  const written = Buffer.alloc(count * 4);
  for (let i = 0; i < count; i += 1) {
    const [row, column] = [Math.floor((first + i) / width), (first + i) % width];
    let sum = 0;
    for (let term = starts[row] ?? 0; term < (starts[row + 1] ?? 0); term += 1)
      sum += (terms[2 * term + 1] ?? 0) * at((terms[2 * term] ?? 0) * width + column);
    if (Number.isNaN(sum)) written.writeUInt32LE(0x7fc0_0000, i * 4);
    else written.writeFloatLE(Math.fround(sum), i * 4);
  }
  const node = {
    ...{ kind: 'combineRows', width, dtype: 'F32', inputs: [0] },
    starts: Float64Array.from(starts),
    terms: Float64Array.from(terms),
  };
  const whole = { ...all.source, slicing: 'whole', elements: stored * width };
  const program = { sources: [whole], nodes: [node], first, count, columns: width, watched: [] };
  const output = { value: 1, fd: files.output, begin: 0, dtype: 'F32' };
  const job = { kind: 'compute', program, outputs: [output] };
  return { door: 'run', values: [job, control()], written: behind(first * 4, written) };
};

/**
 * A few targets and atoms with any numbers, or no rows.
 * @param {Random} random
 * @param {Files} files
 * @returns {Call}
 */
const pursue = (random, files) => {
  const [width, dtype] = [random.from(1, 300), random.pick(dtypes)];
  const rowsOf = (/** @type {number} */ rows) => {
    const slice = { first: 0, count: rows * width };
    const source = {
      ...sourceOf(random, files, slice, dtype).source,
      ...{ slicing: 'rows', width, runs: Float64Array.of(0, 0, rows) },
    };
    return { sources: [source], nodes: [], ...slice, columns: width, watched: [] };
  };
  const [atoms, targets] = [random.from(1, 20), random.from(1, 5)];
  const k = random.from(1, atoms);
  const what = { kind: 'pursue', atoms: rowsOf(atoms), targets: rowsOf(targets), k };
  return { door: 'solve', values: [what, new Float64Array(targets * (3 + 2 * k)), control()] };
};

/** Ends of one or two files. @param {Random} random @param {Files} files @returns {Call} */
const hash = (random, files) => {
  const some = random.list(random.from(1, 2), () => {
    const { fd, bytes } = random.pick(files.inputs);
    const start = random.from(0, bytes.length);
    return { fd, start, bytes: bytes.subarray(start) };
  });
  const ranges = some.map(({ fd, start, bytes }) => ({
    ...{ fd, start, begin: start },
    ...{ length: bytes.length, last: true },
  }));
  const states = new Uint32Array(8 * some.length);
  const found = () =>
    some.every(({ bytes }, index) => {
      const words = Array.from(states.subarray(8 * index, 8 * index + 8), (word) =>
        word.toString(16).padStart(8, '0'),
      );
      return words.join('') === createHash('sha256').update(bytes).digest('hex');
    });
  return { door: 'hash', values: [ranges, states, control()], found };
};

/** @param {Random} _ @param {Files} files @returns {Call} */
const lock = (_, files) => ({ door: 'lock', values: [files.output] });

/** Missing names: throws the system's error. @returns {Call} */
const exchange = () => ({ door: 'exchange', values: ['/nowhere/a', '/nowhere/b'] });

const all = [
  copy,
  select,
  assemble,
  linear,
  linear,
  product,
  tuned,
  dequantise,
  dequantise,
  unpack,
  unpack,
  quantise,
  compute,
  compute,
  compute,
  prunedVote,
  analysis,
  analysis,
  countMagnitude,
  measure,
  measure,
  measure,
  difference,
  factorise,
  regress,
  mergeSpectra,
  combineRows,
  pursue,
];

/**
 * @param {Random} random
 * @param {Files} files
 * @param {boolean} hashes true if the addon hashes here
 * @returns {Call}
 */
export const callOf = (random, files, hashes) => {
  if (random.chance(0.01)) return random.pick([lock, exchange])(random, files);
  return random.pick(hashes ? [...all, hash] : all)(random, files);
};
