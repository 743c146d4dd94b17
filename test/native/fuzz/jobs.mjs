// @ts-check
// Calls of the native door that are right, with what a simple text says they give.
/** @import { Random } from './random.mjs' */

/**
 * @typedef {{ readonly fd: number, readonly bytes: Buffer }} Input
 * @typedef {{ readonly inputs: readonly Input[], readonly output: number, readonly closed: number }} Files
 * @typedef {'execute' | 'reduce' | 'measure' | 'lock' | 'exchange'} Door
 * @typedef {object} Call
 * @property {Door} door
 * @property {unknown[]} values its arguments
 * @property {Buffer} [written] what the output holds afterwards, where a simple text knows it
 * @property {() => boolean} [found] whether the arrays given hold what they are to
 */

const widths = [2, 2, 4, 8, 1, 1];
const f32 = 2;
const noCandidate = 0xffff_ffff;

const widthOf = (/** @type {number} */ dtype) => widths[dtype] ?? 0;

const control = () => new BigInt64Array(new SharedArrayBuffer(24));

/** @param {Random} random @param {Files} files @param {number} bytes @param {number} dtype */
const sourceOf = (random, files, bytes, dtype) => {
  const { fd, bytes: whole } = random.pick(files.inputs.filter((input) => input.bytes.length >= bytes));
  const offset = random.below(whole.length - bytes + 1);
  return { range: { fd, offset, dtype }, bytes: whole.subarray(offset, offset + bytes) };
};

/** @param {Random} random */
const sizeOf = (random) => (random.chance(0.1) ? random.from(0, 60_000) : random.from(0, 600));

/** @param {Random} random @param {Files} files @returns {Call} */
const copy = (random, files) => {
  const count = sizeOf(random);
  const { range, bytes } = sourceOf(random, files, count, random.below(6));
  const job = {
    kind: random.chance(0.3) ? 1 : 0,
    sources: [range],
    output: { fd: files.output, offset: 0, dtype: 0 },
    count,
  };
  if (job.kind === 1) job.sources = random.list(random.from(1, 3), () => range);
  return { door: 'execute', values: [job, control()], written: bytes };
};

/** @param {Random} random @param {Files} files @returns {Call} */
const rows = (random, files) => {
  const [columns, width, sense] = [random.from(1, 20), random.pick([1, 2, 4, 8]), random.below(2)];
  const first = random.below(50) * width;
  const count = random.below(200) * width;
  const [a, b] = [sourceOf(random, files, count, 0), sourceOf(random, files, count, 0)];
  const matrixRows = Math.ceil((first + count) / (columns * width));
  const kept = Uint8Array.from(random.list(sense === 0 ? columns : matrixRows, () => random.below(2)));
  const written = Buffer.alloc(count);
  for (let at = 0; at < count; at += 1) {
    const element = Math.floor((first + at) / width);
    const row = sense === 0 ? element % columns : Math.floor(element / columns);
    written[at] = (kept[row] === 1 ? a : b).bytes[at] ?? 0;
  }
  const job = {
    kind: 3,
    sources: [a.range, b.range],
    output: { fd: files.output, offset: 0, dtype: 0 },
    count,
    select: { kept, columns, width, first, sense },
  };
  return { door: 'execute', values: [job, control()], written };
};

const numberOf = (/** @type {Random} */ random) =>
  random.pick([0, 1, -1, 0.5, 1 / 3, -2.75, 1e-3, 1e30, random.word() / 2 ** 31 - 1]);

/** Σ weights·inputs over float32, by docs/numbers.md. @param {Random} random @param {Files} files @returns {Call} */
const linear = (random, files) => {
  const count = Math.floor(sizeOf(random) / 4);
  const sources = random.list(random.from(1, 4), () => sourceOf(random, files, count * 4, f32));
  const weights = sources.map(() => numberOf(random));
  const written = Buffer.alloc(count * 4);
  for (let i = 0; i < count; i += 1) {
    let sum = 0;
    for (const [t, { bytes }] of sources.entries()) {
      const product = Math.fround(Math.fround(weights[t] ?? 0) * bytes.readFloatLE(i * 4));
      sum = t === 0 ? product : Math.fround(sum + product);
    }
    if (Number.isNaN(sum)) written.writeUInt32LE(0x7fc0_0000, i * 4);
    else written.writeFloatLE(sum, i * 4);
  }
  const node = { kind: 0, dtype: f32, inputs: sources.map((_, index) => index), numbers: weights };
  const job = {
    kind: 2,
    sources: sources.map(({ range }) => range),
    program: { nodes: [node], first: random.below(100), columns: random.from(1, 50) },
    outputs: [{ value: sources.length, to: { fd: files.output, offset: 0, dtype: f32 } }],
    count,
  };
  return { door: 'execute', values: [job, control()], written };
};

/** A slice of whole rows. @param {Random} random */
const sliceOf = (random) => {
  const columns = random.from(1, random.chance(0.1) ? 3000 : 40);
  const count = columns * random.from(0, Math.max(1, Math.floor(1600 / columns)));
  return { columns, count, first: columns * random.below(5) };
};

/** @param {Random} random @param {number} length @param {number} tableRow */
const tableOf = (random, length, tableRow) => ({
  table: Float64Array.from(random.list(length, () => random.below(3) / 2)),
  tableRow,
});

/**
 * A node that follows values of the given dtypes.
 *
 * @param {Random} random @param {readonly number[]} dtypes @param {{ columns: number, count: number, first: number }} slice
 */
const nodeOf = (random, dtypes, { columns, count, first }) => {
  const ids = (/** @type {number} */ length) => random.list(length, () => random.below(dtypes.length));
  const kind = random.below(10);
  const dtype = random.below(6);
  const key = [random.word(), random.word()];
  const flag = () => random.below(2);
  const bound = () => [random.word(), random.below(2000), flag()];
  const firstRow = Math.floor(first / columns);
  const tableRow = random.below(firstRow + 1);
  const tableRows = Math.ceil((first + count) / columns) - tableRow;
  switch (kind) {
    case 0: {
      const inputs = ids(random.from(1, 4));
      return { kind, dtype, inputs, numbers: inputs.map(() => numberOf(random)) };
    }
    case 1: {
      const inputs = ids(random.from(1, 3));
      const sense = random.below(2);
      const length = (sense === 0 ? columns : tableRows) * inputs.length;
      return {
        kind,
        dtype,
        inputs,
        numbers: [sense],
        ...tableOf(random, length, sense === 0 ? 0 : tableRow),
      };
    }
    case 2:
      return { kind, dtype, inputs: ids(2), numbers: [...bound(), ...bound(), numberOf(random)] };
    case 3:
      return { kind, dtype, inputs: ids(1), numbers: [...key, 0.5, numberOf(random)] };
    case 4:
      return { kind, dtype, inputs: ids(1), numbers: [...key, -0.1, 1.1, numberOf(random)] };
    case 5: {
      const inputs = ids(random.from(2, 5));
      const rule = [flag(), flag(), flag(), random.below(3), random.pick([0, 1e-6]), numberOf(random)];
      return { kind, dtype, inputs, numbers: [...rule, ...inputs.slice(1).map(() => numberOf(random))] };
    }
    case 6:
      return { kind, dtype, inputs: ids(random.from(1, 4)), numbers: [] };
    case 7:
      return { kind, dtype, inputs: ids(2), numbers: [numberOf(random)] };
    case 8:
      return { kind, dtype, inputs: ids(2), numbers: [], ...tableOf(random, tableRows, tableRow) };
    default: {
      const a = random.below(dtypes.length);
      const alike = dtypes.flatMap((other, id) => (other === dtypes[a] ? [id] : []));
      const sense = random.below(2);
      const table = tableOf(random, sense === 0 ? columns : tableRows, sense === 0 ? 0 : tableRow);
      return { kind, dtype: dtypes[a] ?? 0, inputs: [a, random.pick(alike)], numbers: [sense], ...table };
    }
  }
};

/** @param {Random} random @param {Files} files */
const programOf = (random, files) => {
  const slice = sliceOf(random);
  const dtypes = random.list(random.from(1, 4), () => random.below(6));
  const sources = dtypes.map((dtype) => sourceOf(random, files, slice.count * widthOf(dtype), dtype).range);
  const nodes = random.list(random.from(1, 5), () => {
    const node = nodeOf(random, dtypes, slice);
    dtypes.push(node.dtype);
    return node;
  });
  const { first, columns, count } = slice;
  return { sources, program: { nodes, first, columns }, count, dtypes };
};

/** @param {Random} random @param {Files} files @returns {Call} */
const compute = (random, files) => {
  const { dtypes, ...job } = programOf(random, files);
  const values = new Set(random.list(random.from(1, 3), () => random.below(dtypes.length)));
  let offset = 0;
  const outputs = [...values].map((value) => {
    const to = { fd: files.output, offset, dtype: dtypes[value] ?? 0 };
    offset += job.count * widthOf(to.dtype);
    return { value, to };
  });
  return { door: 'execute', values: [{ kind: 2, ...job, outputs }, control()] };
};

/** @param {Random} random @param {Files} files @returns {Call} */
const reduce = (random, files) => {
  const { columns, count } = sliceOf(random);
  const sources = random.list(random.from(2, 4), () => {
    const dtype = random.below(6);
    return sourceOf(random, files, count * widthOf(dtype), dtype).range;
  });
  const experts = sources.length - 1;
  const sense = random.below(2);
  const sums = {
    magnitudes: new Float64Array(experts * (sense === 0 ? columns : count / columns)),
    pairs: new Float64Array(random.chance(0.5) ? 0 : ((experts * sources.length) / 2) * 3),
    nonFinite: new Float64Array(sources.length),
  };
  return { door: 'reduce', values: [{ sources, rows: count / columns, columns, sense }, sums, control()] };
};

/** How many elements of float32 have a magnitude. @param {Random} random @param {Files} files @returns {Call} */
const ties = (random, files) => {
  const { columns, count, first } = sliceOf(random);
  const { range, bytes } = sourceOf(random, files, count * 4, f32);
  const magnitudes = random.list(count, (index) => bytes.readUInt32LE(index * 4) & 0x7fff_ffff);
  // What is widened by arithmetic loses the payloads of NaN.
  const finite = magnitudes.filter((bits) => bits < 0x7f80_0000);
  const wanted = finite.length > 0 ? random.pick(finite) : 0;
  const out = new Float64Array(1);
  const measurement = {
    kind: 5,
    sources: [range],
    program: { nodes: [], first, columns },
    count,
    values: [0],
    numbers: Float64Array.of(wanted),
    bins: 0,
  };
  return {
    door: 'measure',
    values: [measurement, out, new Uint32Array(), control()],
    found: () => out[0] === finite.filter((bits) => bits === wanted).length,
  };
};

/** @param {Random} random @param {Files} files @returns {Call} */
const measure = (random, files) => {
  const { dtypes, ...measurement } = programOf(random, files);
  const { count } = measurement;
  const { columns } = measurement.program;
  const kind = random.below(9);
  const length = kind === 6 ? 1 : kind === 7 ? 2 : random.from(1, 3);
  const values = random.list(length, () => random.below(dtypes.length));
  const pairs = (length * (length + 1)) / 2;
  const sizes = [
    pairs,
    (count / columns) * pairs,
    columns * pairs,
    length,
    5 * length,
    length,
    1,
    count / columns,
    length,
  ];
  const bins = kind === 4 ? 1 + random.below(300) : 0;
  const windows = values.flatMap(() => {
    const shift = random.from(8, 23);
    const low = random.from(1, 0x7000_0000);
    const last = Math.min(0x7fff_ffff, low + bins * 2 ** shift - 1);
    const wanted = random.below(5);
    return [low, last, shift, ...random.list(4, (c) => (c < wanted ? random.from(low, last) : noCandidate))];
  });
  const words = values.flatMap(() =>
    kind === 6 ? [random.pick([0, random.word()]), random.from(1, 9)] : [0],
  );
  const numbers = Float64Array.from(kind === 4 ? windows : kind === 5 || kind === 6 ? words : []);
  return {
    door: 'measure',
    values: [
      { kind, ...measurement, values, numbers, bins },
      new Float64Array(sizes[kind] ?? 0),
      new Uint32Array(new SharedArrayBuffer(4 * bins * length)),
      control(),
    ],
  };
};

/** @param {Random} _ @param {Files} files @returns {Call} */
const lock = (_, files) => ({ door: 'lock', values: [files.output] });

/** Of names that are not there: it throws what the system says. @returns {Call} */
const exchange = () => ({ door: 'exchange', values: ['/nowhere/a', '/nowhere/b'] });

const all = [
  copy,
  rows,
  linear,
  linear,
  compute,
  compute,
  compute,
  reduce,
  reduce,
  ties,
  measure,
  measure,
  measure,
];

/** @param {Random} random @param {Files} files @returns {Call} */
export const callOf = (random, files) =>
  random.chance(0.01) ? random.pick([lock, exchange])(random, files) : random.pick(all)(random, files);
