import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import { control, type NodeOperation } from '../../src/core/native/job.js';
import { type Measure, sizeOf } from '../../src/core/native/measure.js';
import { newTally, talliedElements, tallyAt } from '../../src/core/native/tally.js';
import { bitsOfFloat } from '../../src/core/tensor/float-bits.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

// Calls the native door itself with values that its TypeScript side cannot express.

const file = fileURLToPath(
  new URL(`../../prebuilds/${process.platform}-${process.arch}/layerloom.node`, import.meta.url),
);

type Call = (...values: unknown[]) => { outcome: string };

const door: Record<'run' | 'measure' | 'solve' | 'hash' | 'lock' | 'exchange', Call> = createRequire(
  import.meta.url,
)(file);

const columns = 8;
const count = 4 * columns;

/** Two sources and an output, each as large as `count` float64. */
const dequantisation = {
  codes: 'F8_E4M3',
  scales: 'floats',
  factor: 'none',
  rows: 4,
  width: columns,
  stride: columns,
  blockRows: 2,
  blockColumns: 4,
  transposed: false,
  order: 'across',
  zeros: null,
  groups: false,
  nested: null,
  after: 1,
} as const;

const zeros = { codes: 'I8', order: 'across', rows: 2, width: 2, stride: 2, oneMore: false };

const openFiles = () => {
  const directory = temporaryDirectory();
  const open = (name: string, flags: string) => {
    const fd = openSync(join(directory, name), flags);
    onTestFinished(() => closeSync(fd));
    return fd;
  };
  for (const name of ['a', 'b']) writeFileSync(join(directory, name), new Uint8Array(count * 8).fill(1));
  return { a: open('a', 'r'), b: open('b', 'r'), out: open('out', 'w+') };
};

type Files = ReturnType<typeof openFiles>;

const words = (length: number = control.words) =>
  new BigInt64Array(new SharedArrayBuffer(length * BigInt64Array.BYTES_PER_ELEMENT));

const location = (fd: number) => ({ fd, begin: 0 });

const source = (fd: number, dtype = 'F32') => ({ fd, begin: 0, dtype, slicing: 'elements' });

const copyJob = ({ a, out }: Files) => ({
  kind: 'copy',
  source: location(a),
  to: location(out),
  first: 0,
  count,
});

const sameJob = ({ a, b, out }: Files) => ({
  kind: 'same',
  sources: [location(a), location(b)],
  to: location(out),
  first: 0,
  count,
});

const node = (operation: NodeOperation, inputs: readonly number[], dtype = 'F32') => ({
  ...operation,
  inputs,
  dtype,
});

const sum = node({ kind: 'linear', weights: [1, 1] }, [0, 1]);

const programOf = ({ a, b }: Files, nodes: readonly ReturnType<typeof node>[], dtype = 'F32') => ({
  sources: [source(a, dtype), source(b, dtype)],
  nodes,
  first: 0,
  count,
  columns,
  watched: [],
});

const computeJob = (files: Files, nodes: readonly ReturnType<typeof node>[] = [sum], dtype = 'F32') => ({
  kind: 'compute',
  program: programOf(files, nodes, dtype),
  outputs: [{ value: 1 + nodes.length, ...location(files.out), dtype: nodes.at(-1)?.dtype }],
});

/** A source's rows, reordered. */
const gatherJob = (files: Files, slicing: object = {}, runs = Float64Array.of(0, 0, 4)) => ({
  kind: 'compute',
  program: {
    sources: [
      { ...source(files.a), slicing: 'rows', width: columns, runs: Float64Array.of(0, 0, 4), ...slicing },
    ],
    nodes: [node({ kind: 'assemble', width: columns, runs }, [0])],
    first: 0,
    count,
    columns,
    watched: [],
  },
  outputs: [{ value: 1, ...location(files.out), dtype: 'F32' }],
});

const quantisation = { scheme: 'float8', rows: 4, blockRows: 2, blockColumns: 4, largest: 0 } as const;

const plainProduct = {
  kind: 'product',
  rank: 2,
  transposed: false,
  experts: 1,
  row: 0,
  grouped: false,
} as const;

/** B · A of rank 2: [4, 2] by [2, 8]. */
const productJob = (files: Files, operation: object = {}) => ({
  kind: 'compute',
  program: {
    sources: [
      { ...source(files.a), slicing: 'whole', elements: 2 * columns },
      { ...source(files.b), slicing: 'whole', elements: 2 * 4 },
    ],
    nodes: [{ ...node(plainProduct, [0, 1]), ...operation }],
    first: 0,
    count,
    columns,
    watched: [],
  },
  outputs: [{ value: 2, ...location(files.out), dtype: 'F32' }],
});

/** [4, 2] · [2, 8], and rows of 8 in blocks of 2. */
const factor = { rows: 4, columns, rank: 2, numbers: new Float64Array(24) };
const factoredJob = (files: Files, operation: object = {}) =>
  computeJob(files, [node({ kind: 'factored', kronecker: false, factors: [factor], ...operation }, [])]);
const order = Float64Array.from([1, 0, 2, 3, 4, 5, 6, 7]);
const turned = { kind: 'turned', size: 2, numbers: new Float64Array(4), order } as const;
const turnedJob = (files: Files, operation: object = {}) =>
  computeJob(files, [node({ ...turned, ...operation }, [0])]);

const dequantiseJob = (files: Files, operation: object = {}) => ({
  kind: 'compute',
  program: {
    sources: [
      { ...source(files.a, 'F8_E4M3'), slicing: 'whole', elements: count },
      { ...source(files.b), slicing: 'whole', elements: 4 },
    ],
    nodes: [
      {
        ...node({ ...dequantisation, kind: 'dequantise' }, [0, 1]),
        ...operation,
      },
    ],
    first: 0,
    count,
    columns,
    watched: [],
  },
  outputs: [{ value: 2, ...location(files.out), dtype: 'F32' }],
});

const unpackJob = (files: Files, operation: object = {}) => ({
  kind: 'compute',
  program: {
    sources: [{ ...source(files.a, 'F8_E4M3'), slicing: 'whole', elements: 4 * count }],
    nodes: [
      { ...node({ kind: 'unpack', type: 'F32', width: columns, head: 2, plus: 1 }, [0]), ...operation },
    ],
    first: 0,
    count,
    columns,
    watched: [],
  },
  outputs: [{ value: 1, ...location(files.out), dtype: 'F32' }],
});

/** A matrix [4, 8] quantised in blocks of 2 × 4: its codes and scales. */
const quantiseJob = (files: Files, operation: object = {}) => ({
  kind: 'compute',
  program: {
    sources: [source(files.a)],
    nodes: [{ ...node({ ...quantisation, kind: 'quantise', codes: true }, [0], 'F8_E4M3'), ...operation }],
    first: 0,
    count,
    columns,
    watched: [],
  },
  outputs: [
    { value: 1, ...location(files.out), dtype: 'F8_E4M3' },
    { value: 1, ...location(files.out), begin: count, dtype: 'F32', scales: true },
  ],
});

const combineJob = (files: Files, operation: object = {}) => ({
  kind: 'compute',
  program: {
    sources: [{ ...source(files.a), slicing: 'whole', elements: 3 * columns }],
    nodes: [{ ...node({ kind: 'combineRows', width: columns, ...combination }, [0]), ...operation }],
    first: 0,
    count,
    columns,
    watched: [],
  },
  outputs: [{ value: 1, ...location(files.out), dtype: 'F32' }],
});

/** Row 0 sums two rows, row 2 sums one, and other rows sum none. */
const combination = {
  starts: Float64Array.of(0, 2, 2, 3, 3),
  terms: Float64Array.of(0, 0.5, 2, -1, 1, 3),
};

const pursuit = (files: Files) => {
  const rowsOf = (first: number, rows: number) => ({
    sources: [
      {
        ...source(files.a),
        slicing: 'rows',
        width: columns,
        runs: Float64Array.of(0, first, rows),
      },
    ],
    nodes: [],
    first: 0,
    count: rows * columns,
    columns,
    watched: [],
  });
  return { kind: 'pursue', atoms: rowsOf(0, 2), targets: rowsOf(2, 2), k: 2 };
};

/** A quantised tensor with a third input of 16 bytes. */
const withInput = (job: ReturnType<typeof dequantiseJob>) => ({
  ...job,
  program: {
    ...job.program,
    sources: [...job.program.sources, { ...itemAt(job.program.sources, 0), elements: 16 }],
    nodes: job.program.nodes.map((one) => ({ ...one, inputs: [0, 1, 2] })),
  },
  outputs: job.outputs.map((one) => ({ ...one, value: 3 })),
});

const measurement = (files: Files, measures: readonly Measure[] = [{ kind: 'gram', values: [0] }]) => ({
  program: programOf(files, []),
  measures,
});

const one = () => [new Float64Array(1)];

const magnitudes: Measure = { kind: 'columnMagnitudes', value: 2 };

const analysis = (files: Files, measures: readonly Measure[] = []) => ({
  program: programOf(files, [node({ kind: 'linear', weights: [1, -1] }, [1, 0])]),
  measures: [
    magnitudes,
    { kind: 'nonFinite', base: 0, experts: [1], differences: [2] } as const,
    { kind: 'overlaps', values: [2] } as const,
    ...measures,
  ],
});

const analysed = () => [new Float64Array(columns), new Float64Array(2), new Float64Array(3)];

const histogram = (
  files: Files,
  window: { low: number; last: number; shift: number; candidates?: readonly number[] },
  counts: unknown = new Uint32Array(256),
) =>
  measurement(files, [
    { kind: 'histogram', value: 0, window: { candidates: [], ...window }, counts: counts as Uint32Array },
  ]);

const all = { low: 1, last: 2 ** 31 - 1, shift: 23 };

const factorisation = (files: Files) => ({
  kind: 'factorise',
  program: programOf(files, [sum]),
  ...{ value: 2, rank: 2, share: 1, key: 1n, transposed: false, dtype: 'F32' },
  left: location(files.out),
  right: { fd: files.out, begin: 4 * 2 * 4 },
});

/** Two matrices [4, 8], and two Gram matrices [8, 8] in the same files. */
const regression = (files: Files) => ({
  kind: 'regress',
  matrices: programOf(files, []),
  grams: { ...programOf(files, []), count: columns * columns },
  ...{ values: [0, 1], of: [0, 1], shares: [0.5, 0.5], scaling: 0.9, ridge: 0, dtype: 'F64' },
  to: location(files.out),
});

const spectral = (files: Files) => ({
  kind: 'mergeSpectra',
  program: programOf(files, []),
  ...{ rule: 'tsv_m', base: 0, sources: [1], scale: 1, dtype: 'F64' },
  to: location(files.out),
});

/** Each solver, and how many numbers it returns. */
const solvers = {
  factorise: [factorisation, 4 + 2],
  regress: [regression, 3],
  mergeSpectra: [spectral, 0],
  pursue: [pursuit, 2 * (3 + 2 * 2)],
} as const;

type Solver = keyof typeof solvers;

/** Solves, with a part of the job replaced. */
const solve = (kind: Solver, path?: string, value?: unknown) => {
  const [make, numbers] = solvers[kind];
  const what = make(openFiles());
  return door.solve(
    path === undefined ? what : having(what, path, value),
    new Float64Array(numbers),
    words(),
  );
};

const hashed = ({ a, b }: Files) => [
  { fd: a, start: 0, begin: 0, length: 64, last: false },
  { fd: b, start: 0, begin: 0, length: count * 8, last: true },
];

const states = () => new Uint32Array(16);

/** On processors without SHA-256 instructions the addon lacks this function. */
const hashes = 'hash' in door;

const detached = () => {
  const array = new BigInt64Array(control.words);
  structuredClone(array, { transfer: [array.buffer] });
  return array;
};

const having = (whole: unknown, path: string, value: unknown): unknown => {
  const [key = '', ...rest] = path.split('.');
  const copy = (Array.isArray(whole) ? [...whole] : { ...(whole as object) }) as Record<string, unknown>;
  copy[key] = rest.length === 0 ? value : having(copy[key], rest.join('.'), value);
  return copy;
};

describe('the native door takes a job that is right', () => {
  it.each([
    ['a copy', (files: Files) => door.run(copyJob(files), words())],
    ['a comparing copy', (files: Files) => door.run(sameJob(files), words())],
    ['a computation', (files: Files) => door.run(computeJob(files), words())],
    ['rows in another order', (files: Files) => door.run(gatherJob(files), words())],
    ['a product', (files: Files) => door.run(productJob(files), words())],
    ['small factors', (files: Files) => door.run(factoredJob(files), words())],
    ['turned rows', (files: Files) => door.run(turnedJob(files), words())],
    ['a quantised tensor', (files: Files) => door.run(dequantiseJob(files), words())],
    ['a tensor in blocks', (files: Files) => door.run(unpackJob(files), words())],
    ['a matrix that is quantised', (files: Files) => door.run(quantiseJob(files), words())],
    ['a measurement', (files: Files) => door.measure(measurement(files), one(), words())],
    ['a factorisation', () => solve('factorise')],
    ['a regression', () => solve('regress')],
    ['a merge by singular values', () => solve('mergeSpectra')],
    ['sums of rows', (files: Files) => door.run(combineJob(files), words())],
    ['a pursuit', () => solve('pursue')],
    ['an analysis', (files: Files) => door.measure(analysis(files), analysed(), words())],
    [
      'a histogram',
      (files: Files) =>
        door.measure(histogram(files, { ...all, candidates: [5, 7] }), [new Float64Array(5)], words()),
    ],
  ])('%s', (_, call) => {
    expect(call(openFiles())).toEqual({ outcome: 'done', source: 0, reason: '', nonFinite: [] });
  });

  it.runIf(hashes)('parts of files to hash', () => {
    expect(door.hash(hashed(openFiles()), states(), words())).toMatchObject({ outcome: 'done' });
  });

  it('a slice of no elements, which has nothing to map', () => {
    const files = openFiles();
    for (const job of [copyJob(files), sameJob(files)])
      expect(door.run({ ...job, count: 0 }, words())).toMatchObject({ outcome: 'done' });
    expect(door.run(having(computeJob(files), 'program.count', 0), words())).toMatchObject({
      outcome: 'done',
    });
  });

  it.each([
    ['regress', 'matrices.sources.1.begin', 1],
    ['regress', 'grams.sources.0.begin', 2],
    ['regress', 'grams.sources.1.begin', 3],
    ['pursue', 'atoms.sources.0.begin', 0],
    ['pursue', 'targets.sources.0.begin', 1],
    ['mergeSpectra', 'program.sources.1.begin', 1],
    ['factorise', 'program.sources.1.begin', 1],
  ] as const)('to %s, and numbers sources over all programs: %s', (kind, path, source) => {
    expect(solve(kind, path, 2 ** 20)).toMatchObject({ outcome: 'inputShrank', source });
  });

  it('whatever the arrays to fill held before', () => {
    const out = analysed();
    for (const numbers of out) numbers.fill(Number.NaN);
    expect(door.measure(analysis(openFiles()), out, words())).toMatchObject({ outcome: 'done' });
    expect(out).toEqual(analysed());
  });
});

/** Values of codes 1 to 8 of [2, 4], with columns in groups, or rows of a transposed tensor. */
const grouped = (groups: readonly number[], transposed: boolean): readonly number[] => {
  const directory = temporaryDirectory();
  const [path, out] = [join(directory, 'in'), join(directory, 'out')];
  writeFileSync(
    path,
    Buffer.concat([
      Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]),
      Buffer.from(Float32Array.of(1, 10, 100, 1000).buffer),
      Buffer.from(Uint32Array.from(groups).buffer),
    ]),
  );
  const [input, output] = [openSync(path, 'r'), openSync(out, 'w+')];
  onTestFinished(() => [input, output].forEach(closeSync));
  const [rows, width] = [2, 4];
  const whole = { fd: input, slicing: 'whole' };
  const how = {
    ...dequantisation,
    codes: 'I8' as const,
    rows,
    width,
    stride: width,
    groups: true,
    transposed,
    blockRows: 1,
    blockColumns: 2,
  };
  const program = {
    sources: [
      { ...whole, begin: 0, dtype: 'F8_E4M3', elements: 8 },
      { ...whole, begin: 8, dtype: 'F32', elements: 4 },
      { ...whole, begin: 24, dtype: 'F8_E4M3', elements: 4 * groups.length },
    ],
    nodes: [node({ ...how, kind: 'dequantise' }, [0, 1, 2])],
    first: 0,
    count: 8,
    columns: transposed ? rows : width,
    watched: [],
  };
  const outputs = [{ value: 3, ...location(output), dtype: 'F32' }];
  expect(door.run({ kind: 'compute', program, outputs }, words())).toMatchObject({ outcome: 'done' });
  const { buffer, byteOffset } = Uint8Array.from(readFileSync(out));
  return [...new Float32Array(buffer, byteOffset, 8)];
};

describe('a quantised tensor whose input features are in groups', () => {
  it('has the scales of the group that each column names', () => {
    expect(grouped([1, 0, 0, 1], false)).toEqual([10, 2, 3, 40, 5000, 600, 700, 8000]);
  });

  it('has the scales of the group that each row names, where it is stored transposed', () => {
    expect(grouped([1, 0], true)).toEqual([100, 5, 200, 6, 3000, 70, 4000, 80]);
  });

  it('is NaN where a feature names no group that there is', () => {
    const { NaN: nan } = Number;
    expect(grouped([1, 2, 0, 2 ** 32 - 1], false)).toEqual([10, nan, 3, nan, 5000, nan, 700, nan]);
    expect(grouped([2, 0], true)).toEqual([nan, 5, nan, 6, nan, 70, nan, 80]);
  });
});

const bound = { bits: 0, cutoff: 0, early: false };
const keep: NodeOperation = { kind: 'keep', lower: bound, upper: bound, scale: 1 };
const drop: NodeOperation = { kind: 'drop', key: 1n, probability: 0.5, scale: 1 };
const dropRanked: NodeOperation = { kind: 'dropRanked', key: 1n, lowest: 0, highest: 1, scale: 1 };
const random: NodeOperation = { kind: 'random', key: 1n, distribution: 'normal', scale: 1 };
const vote: NodeOperation = {
  kind: 'vote',
  weights: [1],
  election: { weighted: false, tie: 'positive' },
  divisor: 'none',
  least: 0,
  scale: 1,
};
const selectNode = (dtype: string, inputs = [0, 1]) =>
  node({ kind: 'select', rows: 'input', kept: new Uint8Array(columns) }, inputs, dtype);
const rowLinear = (length: number, rows: 'input' | 'output') =>
  node({ kind: 'rowLinear', rows, weights: new Float64Array(length) }, [0, 1]);
const importance = (length: number) =>
  node({ kind: 'importance', divergences: new Float64Array(length) }, [0, 1]);

describe('the native door takes every operation', () => {
  it.each([
    sum,
    rowLinear(2 * columns, 'input'),
    rowLinear(8, 'output'),
    node(keep, [0, 1]),
    node(drop, [0]),
    node(dropRanked, [0]),
    node(random, []),
    node(vote, [0, 1]),
    node({ ...vote, election: null }, [0, 1]),
    node({ ...vote, weights: [1, 2], election: 'each', divisor: 'count' }, [0, 1]),
    node({ kind: 'variance' }, [0, 1]),
    node({ kind: 'nearSwap', t: 0.1 }, [0, 1]),
    node({ kind: 'fisher', weights: [0.5], eps: 1e-6 }, [0, 1]),
    importance(4),
    selectNode('F32'),
    node({ kind: 'assemble', width: columns, runs: Float64Array.of(0, 1, 2) }, [0, 1]),
    node({ kind: 'fillRows', from: 1, values: new Float64Array(columns) }, [0]),
  ])('$kind', (operation) => {
    expect(door.run(computeJob(openFiles(), [operation]), words())).toMatchObject({ outcome: 'done' });
  });
});

describe('the native door measures what every operation makes', () => {
  it.each([sum, node(drop, [0]), node(random, []), node(vote, [0, 1]), node({ kind: 'variance' }, [0, 1])])(
    '$kind',
    (operation) => {
      const files = openFiles();
      const measured = {
        program: programOf(files, [operation]),
        measures: [{ kind: 'magnitudes', value: 2 }],
      };
      const out = [new Float64Array(1)];
      expect(door.measure(measured, out, words())).toMatchObject({ outcome: 'done' });
      // The sum of the same values, written and added up here; the native sum is in float32.
      door.run(computeJob(files, [operation]), words());
      const data = new Float32Array(count);
      readSync(files.out, new Uint8Array(data.buffer), 0, 4 * count, 0);
      expect(out[0]?.[0]).toBeCloseTo(
        data.reduce((total, x) => total + Math.abs(x), 0),
        4,
      );
    },
  );
});

/**
 * A vote on the difference of a bfloat16 source from itself at another offset; keeps elements above a bound.
 */
const votedJob = (
  files: Files,
  tally: unknown = newTally(1),
  more: readonly ReturnType<typeof node>[] = [],
) => {
  const lower = { bits: bitsOfFloat(1), cutoff: 16, early: true };
  const upper = { bits: 0xffff_ffff, cutoff: 0, early: true };
  const nodes = [
    node({ kind: 'linear', weights: [1, -1] }, [1, 0]),
    node({ kind: 'keep', lower, upper, scale: 1 }, [2, 2]),
    node(vote, [0, 3], 'BF16'),
    ...more,
  ];
  return { ...computeJob(files, nodes, 'BF16'), tally };
};

it('adds to a tally what lies at the bounds of a vote', () => {
  const directory = temporaryDirectory();
  const files = openFiles();
  const changes = Float32Array.from({ length: count }, (_, i) => [0, -1, 2, 0.5][i % 4] ?? 0);
  const [a, b] = [join(directory, 'a'), join(directory, 'b')];
  writeFileSync(a, new Uint8Array(2 * count));
  writeFileSync(
    b,
    Uint16Array.from(changes, (x) => bitsOfFloat(x) >>> 16),
  );
  const opened = [openSync(a, 'r'), openSync(b, 'r')] as const;
  onTestFinished(() => opened.forEach(closeSync));
  const tally = newTally(1);
  const job = votedJob({ ...files, a: opened[0], b: opened[1] }, tally);
  for (const times of [1, 2]) {
    expect(door.run(job, words())).toMatchObject({ outcome: 'done' });
    expect(talliedElements(tally)).toBe(times * count);
    // Elements of magnitude 1 are above the bound only before element 16.
    const [ones, twos] = [count / 4, count / 4];
    expect(tallyAt(tally, 0)).toEqual({
      above: times * (twos + (ones * 16) / count),
      least: bitsOfFloat(1),
      most: bitsOfFloat(1),
    });
  }
});

describe('random numbers of the native door', () => {
  const written = (distribution: 'normal' | 'uniform', scale: number) => {
    const files = openFiles();
    door.run(computeJob(files, [node({ ...random, distribution, scale }, [])]), words());
    const data = new Float32Array(count);
    readSync(files.out, new Uint8Array(data.buffer), 0, 4 * count, 0);
    return [...data].slice(0, 8);
  };

  // By Python's statistics.NormalDist().inv_cdf of the words of SplitMix64 with key 1, rounded to float32.
  it('are quantiles of the normal distribution', () => {
    expect(written('normal', 1)).toEqual([
      0.16762684285640717, 0.6612741947174072, 1.8957395553588867, -0.1399260312318802, -0.1401652842760086,
      0.7156439423561096, 1.161834716796875, 0.057853102684020996,
    ]);
  });

  it('are uniform between −1 and 1, times the scale', () => {
    expect(written('uniform', 0.5)).toEqual(
      [
        0.13312314450740814, 0.4915635287761688, 0.9420055150985718, -0.11128156632184982,
        -0.11147059500217438, 0.5257887840270996, 0.7546973824501038, 0.04613436013460159,
      ].map((x) => x / 2),
    );
  });

  it('are 0, and never −0, where the scale is 0', () => {
    expect(written('normal', 0).map((x) => Object.is(x, 0))).toEqual(Array(8).fill(true));
  });
});

const histogramMeasure = {
  kind: 'histogram',
  value: 0,
  window: { ...all, candidates: [] },
  counts: new Uint32Array(256),
} as const;

const everyMeasure: { readonly [Kind in Measure['kind']]: Measure & { readonly kind: Kind } } = {
  gram: { kind: 'gram', values: [0, 1, 2] },
  rowGram: { kind: 'rowGram', values: [0, 1] },
  columnGram: { kind: 'columnGram', values: [0, 1] },
  columnSums: { kind: 'columnSums', value: 0 },
  magnitudes: { kind: 'magnitudes', value: 0 },
  rowMagnitudes: { kind: 'rowMagnitudes', value: 0 },
  columnMagnitudes: { kind: 'columnMagnitudes', value: 2 },
  overlaps: { kind: 'overlaps', values: [2, 2] },
  nonFinite: { kind: 'nonFinite', base: 0, experts: [1], differences: [2] },
  histogram: histogramMeasure,
  countAlone: { kind: 'countAlone', values: [0, 1], bits: 0 },
  countMagnitude: { kind: 'countMagnitude', value: 0, bits: 0 },
  findMagnitude: { kind: 'findMagnitude', value: 0, bits: 0, ordinal: 1 },
  divergence: { kind: 'divergence', value: 0, base: 1 },
  signs: { kind: 'signs', value: 0 },
  difference: { kind: 'difference', a: 0, b: 1, numbers: true, equalBlocks: true },
};

describe('the native door takes every measure, into as many numbers as its type says,', () => {
  it.each(Object.values(everyMeasure))('$kind', (measure) => {
    const { program } = analysis(openFiles());
    // Some measures are valid only beside magnitudes.
    const measures =
      measure.kind === 'overlaps' || measure.kind === 'nonFinite' ? [magnitudes, measure] : [measure];
    const out = measures.map((one) => new Float64Array(sizeOf(one, program)));
    expect(door.measure({ program, measures }, out, words())).toMatchObject({ outcome: 'done' });
    const longer = [...out.slice(0, -1), new Float64Array((out.at(-1)?.length ?? 0) + 1)];
    expect(() => door.measure({ program, measures }, longer, words())).toThrow(RangeError);
  });
});

it('measures the same divergence of equal rows, whether exponentials are computed or looked up', () => {
  const [wide, rows] = [1_200, 6];
  // Upper halves of float32. Rows repeat, so all but the first have tables.
  const halves = (seed: number) =>
    Uint16Array.from({ length: rows * wide }, (_, i) => {
      const column = i % wide;
      const at = (column + 1) * seed;
      return column % 97 === 0 ? 0 : ((at & 1) << 15) | (0x3980 + (at % 0x480));
    });
  const directory = temporaryDirectory();
  const sources = [40_503, 30_011].map((seed, index) => {
    writeFileSync(join(directory, `${index}`), halves(seed));
    const fd = openSync(join(directory, `${index}`), 'r');
    onTestFinished(() => closeSync(fd));
    return source(fd, 'BF16');
  });
  const program = { sources, nodes: [], first: 0, count: rows * wide, columns: wide, watched: [] };
  const measures = [everyMeasure.divergence];
  const found = new Float64Array(rows);
  expect(door.measure({ program, measures }, [found], words())).toMatchObject({ outcome: 'done' });
  expect(found[0]).toBeGreaterThan(0);
  expect(new Set(found).size).toBe(1);
});

it('measures no divergence of rows from themselves, and NaN of rows with NaN', () => {
  const directory = temporaryDirectory();
  const rows = Float32Array.from({ length: count }, (_, i) => (i < 4 * columns - 3 ? i / 7 - 2 : -Infinity));
  writeFileSync(join(directory, 'rows'), rows);
  const measured = (name: string) => {
    const fd = openSync(join(directory, name), 'r');
    onTestFinished(() => closeSync(fd));
    const sources = [source(fd), source(fd)];
    const found = new Float64Array(4);
    const program = { sources, nodes: [], first: 0, count, columns, watched: [] };
    expect(door.measure({ program, measures: [everyMeasure.divergence] }, [found], words())).toMatchObject({
      outcome: 'done',
    });
    return [...found];
  };
  expect(measured('rows')).toEqual([0, 0, 0, 0]);
  rows[columns] = Number.NaN;
  writeFileSync(join(directory, 'with-nan'), rows);
  expect(measured('with-nan')).toEqual([0, Number.NaN, 0, 0]);
  rows.fill(0.5);
  writeFileSync(join(directory, 'finite'), rows);
  expect(measured('finite')).toEqual([0, 0, 0, 0]);
});

it('computes a value that stands on as many others as a program may have', () => {
  const { a } = openFiles();
  const length = 300_000;
  const nodes = Array.from({ length }, (_, id) => ({
    kind: 'linear',
    dtype: 'F32',
    inputs: [id],
    weights: [1],
  }));
  const program = { sources: [source(a)], nodes, first: 0, count, columns, watched: [] };
  const out = [new Float64Array(1)];
  const measures = [{ kind: 'countMagnitude', value: length, bits: 0x0101_0101 }];
  expect(door.measure({ program, measures }, out, words())).toMatchObject({ outcome: 'done' });
  expect(out).toEqual([Float64Array.of(count)]);
});

describe('the native door refuses, before it touches a file,', () => {
  it.each<[string, (files: Files) => unknown]>([
    ['as many elements as would wrap in bytes', (f) => having(computeJob(f), 'program.count', 2 ** 62)],
    ['more elements than an integer can say', (f) => having(computeJob(f), 'program.count', 2 ** 53)],
    ['a copy whose end wraps', (f) => having(copyJob(f), 'source.begin', Number.MAX_SAFE_INTEGER)],
    ['a copy that begins where its end wraps', (f) => having(copyJob(f), 'first', Number.MAX_SAFE_INTEGER)],
    ['an output whose end wraps', (f) => having(copyJob(f), 'to.begin', Number.MAX_SAFE_INTEGER)],
    ['a compared source whose end wraps', (f) => having(sameJob(f), 'sources.1.begin', 2 ** 53 - 8)],
    ['a source whose end wraps', (f) => having(computeJob(f), 'program.sources.0.begin', 2 ** 53 - 8)],
    ['a computed output whose end wraps', (f) => having(computeJob(f), 'outputs.0.begin', 2 ** 53 - 8)],
    ['a slice that begins before its tensor', (f) => having(computeJob(f), 'program.first', -8)],
    ['a slice that ends beyond every tensor', (f) => having(computeJob(f), 'program.first', 2 ** 53 - 8)],
    ['a slice whose bytes wrap', (f) => having(computeJob(f), 'program.first', 2 ** 52)],
    ['a copy that begins before its tensor', (f) => having(copyJob(f), 'first', -8)],
    [
      'rows whose elements wrap',
      (f) => having(computeJob(f, [rowLinear(16, 'input')]), 'program.columns', 2 ** 53 - 1),
    ],
    [
      'columns that are not as many as the kept ones',
      (f) => having(computeJob(f, [selectNode('F32')]), 'program.columns', 9),
    ],
    [
      'fewer kept rows than the slice has',
      (f) =>
        having(
          having(computeJob(f, [selectNode('F32')]), 'program.nodes.0.rows', 'output'),
          'program.first',
          5 * columns,
        ),
    ],
    ['a comparing copy of nothing', (f) => having(sameJob(f), 'sources', [])],
    ['unknown rows', (f) => having(computeJob(f, [rowLinear(16, 'input')]), 'program.nodes.0.rows', 'both')],
    [
      'rows named at length',
      (f) => having(computeJob(f, [rowLinear(16, 'input')]), 'program.nodes.0.rows', 'input'.padEnd(40)),
    ],
    ['weights for too few columns', (f) => computeJob(f, [rowLinear(15, 'input')])],
    ['weights for too many columns', (f) => computeJob(f, [rowLinear(17, 'input')])],
    ['weights for too few rows', (f) => computeJob(f, [rowLinear(7, 'output')])],
    ['divergences of too few rows', (f) => computeJob(f, [importance(3)])],
    ['rows selected in another dtype', (f) => computeJob(f, [selectNode('F64')], 'BF16')],
    [
      'rows selected in another dtype within a program',
      (f) =>
        computeJob(
          f,
          [
            node({ kind: 'linear', weights: [1, 1] }, [0, 1], 'F8_E4M3'),
            selectNode('F64', [2, 2]),
            node({ kind: 'linear', weights: [1] }, [3]),
          ],
          'F8_E4M3',
        ),
    ],
    ['a node of itself', (f) => computeJob(f, [node({ kind: 'linear', weights: [1] }, [2])])],
    ['a node of no inputs', (f) => computeJob(f, [node({ kind: 'linear', weights: [] }, [])])],
    [
      'a mean with too few importances',
      (f) => computeJob(f, [node({ kind: 'fisher', weights: [1, 1], eps: 1 }, [0, 1, 0])]),
    ],
    [
      'a mean with more weights than inputs',
      (f) => computeJob(f, [node({ kind: 'fisher', weights: [1, 1, 1, 1], eps: 1 }, [0, 1])]),
    ],
    ['a node of too few inputs', (f) => computeJob(f, [node({ kind: 'nearSwap', t: 1 }, [0])])],
    ['a node of too many inputs', (f) => computeJob(f, [node({ kind: 'nearSwap', t: 1 }, [0, 1, 0])])],
    ['a node of too few weights', (f) => computeJob(f, [node({ kind: 'linear', weights: [1] }, [0, 1])])],
    ['a tally of too few words', (f) => votedJob(f, new BigInt64Array(6))],
    ['a tally of too many words', (f) => votedJob(f, newTally(2))],
    ['a tally of another vote', (f) => votedJob(f, newTally(1), [node(vote, [0, 1])])],
    ['a tally of no vote', (f) => ({ ...computeJob(f), tally: newTally(1) })],
    ['a vote of too many weights', (f) => computeJob(f, [node({ ...vote, weights: [1, 1] }, [0, 1])])],
    [
      'a vote of each change without weights of those alone',
      (f) => computeJob(f, [node({ ...vote, election: 'each', divisor: 'count' }, [0, 1])]),
    ],
    [
      'a vote of each change that is not divided',
      (f) => computeJob(f, [node({ ...vote, weights: [1, 1], election: 'each' }, [0, 1])]),
    ],
    [
      'an unknown election',
      (f) => having(computeJob(f, [node(vote, [0, 1])]), 'program.nodes.0.election', 'none'),
    ],
    [
      'a vote of too many',
      (f) => computeJob(f, [node({ ...vote, weights: Array(65).fill(1) }, Array(66).fill(0))]),
    ],
    [
      'a bound that is no word',
      (f) => computeJob(f, [node({ ...keep, lower: { ...bound, bits: 2 ** 32 } }, [0, 1])]),
    ],
    [
      'a cutoff that is no index',
      (f) => computeJob(f, [node({ ...keep, upper: { ...bound, cutoff: -1 } }, [0, 1])]),
    ],
    ['a key of more than 64 bits', (f) => computeJob(f, [node({ ...drop, key: 2n ** 64n }, [0])])],
    ['random numbers of an input', (f) => computeJob(f, [node(random, [0])])],
    [
      'random numbers of no distribution',
      (f) => having(computeJob(f, [node(random, [])]), 'program.nodes.0.distribution', 'cauchy'),
    ],
    ['a key below 0', (f) => computeJob(f, [node({ ...drop, key: -1n }, [0])])],
    [
      'a probability that is no number',
      (f) => computeJob(f, [node({ ...drop, probability: Number.NaN }, [0])]),
    ],
    [
      'a probability that has no end',
      (f) => computeJob(f, [node({ ...dropRanked, highest: Number.POSITIVE_INFINITY }, [0])]),
    ],
    [
      'probabilities whose difference has no end',
      (f) => computeJob(f, [node({ ...dropRanked, lowest: -1.5e308, highest: 1.5e308 }, [0])]),
    ],
    [
      'more ranks than a row can have',
      (f) =>
        having(
          having(computeJob(f, [node(dropRanked, [0])]), 'program.columns', 2 ** 33),
          'program.count',
          0,
        ),
    ],
    ['ranks in rows that are cut', (f) => having(computeJob(f, [node(dropRanked, [0])]), 'program.first', 1)],
    [
      'an unknown divisor',
      (f) => having(computeJob(f, [node(vote, [0, 1])]), 'program.nodes.0.divisor', 'all'),
    ],
    [
      'an unknown tie',
      (f) => having(computeJob(f, [node(vote, [0, 1])]), 'program.nodes.0.election.tie', 'none'),
    ],
    ['an output of another dtype', (f) => having(computeJob(f), 'outputs.0.dtype', 'F64')],
    ['an output of an unknown value', (f) => having(computeJob(f), 'outputs.0.value', 3)],
    ['no outputs', (f) => having(computeJob(f), 'outputs', [])],
    [
      'a node that goes to two places',
      (f) => having(computeJob(f), 'outputs', Array(2).fill(computeJob(f).outputs[0])),
    ],
    ['rows of no columns', (f) => having(computeJob(f), 'program.columns', 0)],
    ['an unknown kind', (f) => having(copyJob(f), 'kind', 'move')],
    ['an unknown operation', (f) => having(computeJob(f), 'program.nodes.0.kind', 'sum')],
    ['an unknown dtype', (f) => having(computeJob(f), 'program.sources.0.dtype', 'I8')],
    ['an unknown slicing', (f) => having(computeJob(f), 'program.sources.0.slicing', 'columns')],
    ...[
      ['that overlap', [0, 0, 2, 1, 0, 1]],
      ['that descend', [2, 0, 1, 0, 0, 1]],
      ['of no rows', [1, 0, 0]],
      ['that are cut short', [0, 0]],
      ['that begin before the first', [-1, 0, 1]],
      ['that are no numbers', [Number.NaN, 0, 1]],
      ['of rows that no file has', [0, 2 ** 53 - 1, 4]],
    ].map(([what, runs]): [string, (files: Files) => unknown] => [
      `runs of rows ${what}`,
      (f) => gatherJob(f, { runs: Float64Array.from(runs as number[]) }),
    ]),
    ['rows of no elements', (f) => gatherJob(f, { width: 0 })],
    ['a gathered source as an output', (f) => having(gatherJob(f), 'outputs.0.value', 0)],
    ['runs of an input that is not there', (f) => gatherJob(f, {}, Float64Array.of(0, 1, 4))],
    ['a product of rank 0', (f) => productJob(f, { rank: 0 })],
    ['a product of another rank', (f) => productJob(f, { rank: 4 })],
    ['a product of a rank that wraps', (f) => productJob(f, { rank: 2 ** 52 })],
    ['a product that is as high as its transpose', (f) => productJob(f, { transposed: true })],
    ['a product of no expert', (f) => productJob(f, { experts: 0 })],
    ['a product of experts that wrap', (f) => productJob(f, { experts: 2 ** 52 })],
    ['a product of more experts than its factors have', (f) => productJob(f, { experts: 2 })],
    ['a product from a row on that leaves too few', (f) => productJob(f, { row: 1 })],
    ['a product from a row on that wraps', (f) => productJob(f, { row: 2 ** 53 - 1 })],
    ['a product of one factor', (f) => productJob(f, { inputs: [0] })],
    ['a product of itself', (f) => productJob(f, { inputs: [0, 2] })],
    ['a product whose factors are sliced', (f) => computeJob(f, [node(plainProduct, [0, 1])])],
    ['a product of fewer rows than the slice', (f) => having(productJob(f), 'program.first', columns)],
    ['a product of fewer columns than the tensor', (f) => having(productJob(f), 'program.columns', 9)],
    ['a factor whose end wraps', (f) => having(productJob(f), 'program.sources.0.begin', 2 ** 53 - 8)],
    ['a factor as an output', (f) => having(productJob(f), 'outputs.0.value', 0)],
    ['a factor in a sum', (f) => productJob(f, node({ kind: 'linear', weights: [1, 1] }, [0, 1]))],
    ['no factors', (f) => factoredJob(f, { factors: [] })],
    ['three factors', (f) => factoredJob(f, { factors: [factor, factor, factor] })],
    ['factors of another shape', (f) => factoredJob(f, { factors: [{ ...factor, rows: 3 }] })],
    ['factors with too few numbers', (f) => factoredJob(f, { factors: [{ ...factor, rank: 3 }] })],
    ['factors whose rank wraps', (f) => factoredJob(f, { factors: [{ ...factor, rank: 2 ** 52 }] })],
    ['factors of no rows', (f) => factoredJob(f, { factors: [{ ...factor, rows: 0, rank: 0 }] })],
    [
      'a Kronecker product that is too wide',
      (f) => factoredJob(f, { kronecker: true, factors: [factor, factor] }),
    ],
    [
      'factors of different shapes',
      (f) => factoredJob(f, { factors: [factor, { ...factor, rows: 5, numbers: new Float64Array(26) }] }),
    ],
    ['blocks that do not divide a row', (f) => turnedJob(f, { size: 3, numbers: new Float64Array(9) })],
    ['blocks that are cut short', (f) => turnedJob(f, { numbers: new Float64Array(5) })],
    ['no blocks', (f) => turnedJob(f, { numbers: new Float64Array(0) })],
    ['blocks whose size wraps', (f) => turnedJob(f, { size: 2 ** 52 })],
    ['reflections that are cut short', (f) => turnedJob(f, { size: 0 })],
    ...[
      [0, 0, 2, 3, 4, 5, 6, 7],
      [1, 0, 2, 3, 4, 5, 6, 8],
      [1, 0, 2, 3, 4, 5, 6, -1],
      [1, 0],
      [0.5, 1],
    ].map((places): [string, (files: Files) => unknown] => [
      `an order of columns ${places.join(' ')}`,
      (f) => turnedJob(f, { order: Float64Array.from(places) }),
    ]),
    ['a turned part of a row', (f) => having(turnedJob(f), 'program.first', 1)],
    ['codes that are none', (f) => dequantiseJob(f, { codes: 'F4' })],
    ['scales that are none', (f) => dequantiseJob(f, { scales: 'doubles' })],
    ['a factor that is none', (f) => dequantiseJob(f, { factor: 'plus' })],
    ['a factor that is not there', (f) => dequantiseJob(f, { factor: 'times' })],
    ['blocks of no rows', (f) => dequantiseJob(f, { blockRows: 0 })],
    ['blocks of no columns', (f) => dequantiseJob(f, { blockColumns: 0 })],
    ['matrices of no rows', (f) => dequantiseJob(f, { rows: 0 })],
    [
      'matrices whose elements wrap',
      (f) => dequantiseJob(f, { rows: 2 ** 52, width: 2 ** 52, stride: 2 ** 52 }),
    ],
    ['rows that overlap', (f) => dequantiseJob(f, { stride: columns - 1 })],
    ['rows that are further apart than the codes reach', (f) => dequantiseJob(f, { stride: columns + 1 })],
    ['more blocks than there are scales', (f) => dequantiseJob(f, { blockRows: 1 })],
    ['four-bit rows of no whole bytes', (f) => dequantiseJob(f, { codes: 'E2M1', stride: columns + 1 })],
    ['a transposed tensor of other columns', (f) => dequantiseJob(f, { transposed: true })],
    ['exponents that are float32', (f) => dequantiseJob(f, { scales: 'exponents' })],
    ['codes that are float32', (f) => having(dequantiseJob(f), 'program.sources.0.dtype', 'F32')],
    ['scales that are float64', (f) => having(dequantiseJob(f), 'program.sources.1.dtype', 'F64')],
    ['fewer codes than the slice', (f) => having(dequantiseJob(f), 'program.first', 1)],
    [
      'codes that are sliced',
      (f) => computeJob(f, [node({ ...dequantisation, kind: 'dequantise' }, [0, 1])]),
    ],
    ['an order that is none', (f) => dequantiseJob(f, { order: 'up' })],
    ['interleaved codes of eight bits', (f) => dequantiseJob(f, { order: 'interleaved' })],
    ['words of floating codes', (f) => dequantiseJob(f, { order: 'down' })],
    [
      'words that reach beyond the codes',
      (f) => dequantiseJob(f, { codes: 'I8', order: 'down', stride: 99 }),
    ],
    ['zero points that are not there', (f) => dequantiseJob(f, { zeros })],
    ['zero points of other blocks', (f) => withInput(dequantiseJob(f, { zeros: { ...zeros, rows: 3 } }))],
    ['fewer zero points than blocks', (f) => withInput(dequantiseJob(f, { zeros: { ...zeros, stride: 9 } }))],
    [
      'one more than a floating zero point',
      (f) => withInput(dequantiseJob(f, { zeros: { ...zeros, codes: 'F8_E4M3', oneMore: true } })),
    ],
    ['groups that are not there', (f) => dequantiseJob(f, { groups: true })],
    ['groups of fewer features', (f) => withInput(dequantiseJob(f, { groups: true }))],
    ['nested scales without their numbers', (f) => dequantiseJob(f, { nested: { block: 4, offset: 0 } })],
    ['scales that are nested in nothing', (f) => dequantiseJob(f, { scales: 'nested' })],
    ['blocks that are none', (f) => unpackJob(f, { type: 'Q2_K' })],
    ['blocks in rows of no elements', (f) => unpackJob(f, { width: 0 })],
    ['rows that blocks do not fill', (f) => unpackJob(f, { type: 'Q8_0', width: 48 })],
    ['heads of an odd number of rows', (f) => unpackJob(f, { head: 3 })],
    ['heads that wrap', (f) => unpackJob(f, { head: 2 ** 52 })],
    ['heads that reach beyond the blocks', (f) => unpackJob(f, { head: 8 })],
    ['rows of blocks that wrap', (f) => unpackJob(f, { type: 'Q6_K', width: 2 ** 53 - 256 })],
    ['fewer blocks than the slice', (f) => having(unpackJob(f), 'program.first', 1)],
    ['blocks that are float32', (f) => having(unpackJob(f), 'program.sources.0.dtype', 'F32')],
    [
      'blocks that are sliced',
      (f) => computeJob(f, [node({ kind: 'unpack', type: 'F32', width: 8, head: 0, plus: 0 }, [0])]),
    ],
    ['a scheme that is none', (f) => quantiseJob(f, { scheme: 'int3' })],
    ['a matrix of no rows', (f) => quantiseJob(f, { rows: 0 })],
    ['a matrix of fewer rows than the slice', (f) => quantiseJob(f, { rows: 3 })],
    ['blocks of the matrix that have no rows', (f) => quantiseJob(f, { blockRows: 0 })],
    ['blocks of the matrix that have no columns', (f) => quantiseJob(f, { blockColumns: 0 })],
    ['blocks of the matrix that wrap', (f) => quantiseJob(f, { blockRows: 2 ** 52 })],
    ['a slice that begins in a block', (f) => having(quantiseJob(f, { rows: 9 }), 'program.first', columns)],
    ['a slice that ends in a block', (f) => quantiseJob(f, { rows: 9, blockRows: 3 })],
    ['codes of four bits', (f) => quantiseJob(f, { scheme: 'mxfp4' })],
    ['codes that are float32', (f) => quantiseJob(f, { dtype: 'F32' })],
    ['values that are no float32', (f) => quantiseJob(f, { codes: false })],
    ['a largest magnitude below 0', (f) => quantiseJob(f, { largest: -1 })],
    ['a largest magnitude that is none', (f) => quantiseJob(f, { largest: Number.NaN })],
    ['a matrix of two inputs', (f) => quantiseJob(f, { inputs: [0, 0] })],
    ['scales of a source', (f) => having(quantiseJob(f), 'outputs.1.value', 0)],
    ['scales of a sum', (f) => having(computeJob(f), 'outputs.0.scales', true)],
    ['scales that are no float32', (f) => having(quantiseJob(f), 'outputs.1.dtype', 'F64')],
    ['scales beyond any file', (f) => having(quantiseJob(f), 'outputs.1.begin', 2 ** 53 - 1)],
    [
      'matrices of blocks of different heights',
      (f) =>
        having(quantiseJob(f), 'program.nodes', [
          node({ ...quantisation, kind: 'quantise', codes: true }, [0], 'F8_E4M3'),
          node({ ...quantisation, kind: 'quantise', codes: true, blockRows: 4 }, [0], 'F8_E4M3'),
        ]),
    ],
    ['codes as an output', (f) => having(dequantiseJob(f), 'outputs.0.value', 0)],
    ['blocks as an output', (f) => having(unpackJob(f), 'outputs.0.value', 0)],
    ['a descriptor that is none', (f) => having(copyJob(f), 'to.fd', -1)],
    ['no sources', (f) => having(computeJob(f), 'program.sources', [])],
    [
      'so many sources that a process has no mappings left',
      (f) => having(computeJob(f), 'program.sources', Array(70_000).fill(source(f.a))),
    ],
  ])('%s', (_, job) => {
    const files = openFiles();
    expect(() => door.run(job(files), words())).toThrow(RangeError);
  });

  it.each<[string, (files: Files) => unknown]>([
    ['nothing', () => undefined],
    ['a number', () => 5],
    ['a job without a kind', (f) => having(copyJob(f), 'kind', undefined)],
    ['a kind that is a number', (f) => having(copyJob(f), 'kind', 0)],
    ['a job without a count', (f) => having(copyJob(f), 'count', undefined)],
    ['a count that is a big integer', (f) => having(copyJob(f), 'count', 32n)],
    ['sources that are no list', (f) => having(sameJob(f), 'sources', { 0: location(f.a), length: 1 })],
    ['a list with a hole', (f) => having(sameJob(f), 'sources', new Array(2 ** 32 - 1))],
    ['a computation without a program', (f) => having(computeJob(f), 'program', undefined)],
    [
      'an election that is left out',
      (f) => having(computeJob(f, [node(vote, [0, 1])]), 'program.nodes.0.election', undefined),
    ],
    [
      'a flag that is a number',
      (f) => having(computeJob(f, [node(keep, [0, 1])]), 'program.nodes.0.lower.early', 1),
    ],
    ['a key that is a number', (f) => having(computeJob(f, [node(drop, [0])]), 'program.nodes.0.key', 1)],
    [
      'a kept list of another type',
      (f) => having(computeJob(f, [selectNode('F32')]), 'program.nodes.0.kept', new Uint16Array(columns)),
    ],
    [
      'weights of another type',
      (f) => having(computeJob(f, [rowLinear(16, 'input')]), 'program.nodes.0.weights', new Float32Array(16)),
    ],
  ])('%s, which is ill typed', (_, job) => {
    const files = openFiles();
    expect(() => door.run(job(files), words())).toThrow(TypeError);
  });

  it.each<[string, () => unknown, new () => Error]>([
    ['too few', () => words(2), RangeError],
    ['too many', () => words(4), RangeError],
    ['detached', detached, RangeError],
    ['of another type', () => new BigUint64Array(3), TypeError],
    ['no array', () => new SharedArrayBuffer(24), TypeError],
    ['none', () => undefined, TypeError],
  ])('control words that are %s', (_, shared, error) => {
    const files = openFiles();
    expect(() => door.run(copyJob(files), shared())).toThrow(error);
    expect(() => door.measure(measurement(files), one(), shared())).toThrow(error);
  });

  it.each<[string, (files: Files) => unknown, unknown, new () => Error]>([
    [
      'of as many columns as wrap',
      (f) => having(measurement(f, [{ kind: 'columnGram', values: [0] }]), 'program.columns', 2 ** 53 - 1),
      one(),
      RangeError,
    ],
    [
      'whose pairs wrap',
      (f) =>
        having(
          having(measurement(f, [{ kind: 'columnGram', values: Array(4096).fill(0) }]), 'program.count', 0),
          'program.columns',
          2 ** 50,
        ),
      one(),
      RangeError,
    ],
    [
      'with a candidate outside its window',
      (f) => histogram(f, { low: 8, last: 64, shift: 0, candidates: [5] }),
      [new Float64Array(5)],
      RangeError,
    ],
    [
      'with more candidates than are counted',
      (f) => histogram(f, { ...all, candidates: [1, 2, 3, 4, 5] }),
      [new Float64Array(5)],
      RangeError,
    ],
    ['with a window from 0 on', (f) => histogram(f, { ...all, low: 0 }), [new Float64Array(5)], RangeError],
    [
      'with a window of more bins than it has counts',
      (f) => histogram(f, { ...all, shift: 22 }),
      [new Float64Array(5)],
      RangeError,
    ],
    [
      'with fewer counts than its bins',
      (f) => histogram(f, all, new Uint32Array(255)),
      [new Float64Array(5)],
      RangeError,
    ],
    [
      'with counts of another type',
      (f) => histogram(f, all, new Uint8Array(256)),
      [new Float64Array(5)],
      TypeError,
    ],
    ['into too little', measurement, [new Float64Array()], RangeError],
    ['into too few arrays', measurement, [], RangeError],
    ['into too many arrays', measurement, [...one(), ...one()], RangeError],
    ['into as many arrays as none can hold', measurement, new Array(2 ** 32 - 1), RangeError],
    ['into another type', measurement, [new Float32Array(1)], TypeError],
    ['into no list', measurement, new Float64Array(1), TypeError],
    [
      'of columns into too little',
      (f) => analysis(f),
      [new Float64Array(7), new Float64Array(2), new Float64Array(3)],
      RangeError,
    ],
    ['of nothing', (f) => measurement(f, []), [], RangeError],
    ['of no values', (f) => measurement(f, [{ kind: 'gram', values: [] }]), [new Float64Array()], RangeError],
    ['of unknown values', (f) => measurement(f, [{ kind: 'gram', values: [2] }]), one(), RangeError],
    ['of an unknown value', (f) => measurement(f, [{ kind: 'signs', value: 2 }]), one(), RangeError],
    ['of an unknown kind', (f) => having(measurement(f), 'measures.0.kind', 'ties'), one(), RangeError],
    [
      'of the element before the first',
      (f) => measurement(f, [{ kind: 'findMagnitude', value: 0, bits: 0, ordinal: 0 }]),
      one(),
      RangeError,
    ],
    [
      'of measures that cut a block in other ways',
      (f) => analysis(f, [{ kind: 'gram', values: [0] }]),
      [...analysed(), ...one()],
      RangeError,
    ],
    [
      'of overlaps without magnitudes',
      (f) => measurement(f, [{ kind: 'overlaps', values: [0] }]),
      [new Float64Array(3)],
      RangeError,
    ],
    [
      'of what is not finite without magnitudes of all differences',
      (f) => analysis(f, [{ kind: 'nonFinite', base: 0, experts: [1, 1], differences: [2, 1] }]),
      [...analysed(), new Float64Array(3)],
      RangeError,
    ],
    [
      'of what is not finite with fewer differences than experts',
      (f) => analysis(f, [{ kind: 'nonFinite', base: 0, experts: [1, 1], differences: [2] }]),
      [...analysed(), new Float64Array(3)],
      RangeError,
    ],
    [
      'of a factor',
      (f) => ({ program: productJob(f).program, measures: [{ kind: 'signs', value: 0 }] }),
      one(),
      RangeError,
    ],
    ['of rows that are cut', (f) => having(measurement(f), 'program.count', 31), one(), RangeError],
    [
      'of the difference from an unknown value',
      (f) => measurement(f, [{ ...everyMeasure.difference, b: 2 }]),
      [new Float64Array(8)],
      RangeError,
    ],
    [
      'of a difference beside something else',
      (f) => measurement(f, [everyMeasure.difference, everyMeasure.magnitudes]),
      [new Float64Array(8), new Float64Array(1)],
      RangeError,
    ],
    [
      'of bits of two dtypes',
      (f) =>
        having(
          measurement(f, [{ ...everyMeasure.difference, numbers: false }]),
          'program.sources.1.dtype',
          'BF16',
        ),
      [new Float64Array(8)],
      RangeError,
    ],
  ])('a measurement %s', (_, what, out, error) => {
    expect(() => door.measure(what(openFiles()), out, words())).toThrow(error);
  });

  it.each([
    ['of rank 0', 'rank', 0],
    ['of a rank beyond its extents', 'rank', 5],
    ['of no share', 'share', 0],
    ['of more than all', 'share', 1.5],
    ['of a value that is none', 'value', 3],
    ['of a part of the rows', 'program.first', columns],
    ['of rows that are not whole', 'program.count', count - 1],
    ['of nothing', 'program.count', 0],
    ['to float64', 'dtype', 'F64'],
    ['to a place beyond all files', 'right.begin', 2 ** 53 - 8],
  ])('a factorisation %s', (_, path, value) => {
    expect(() => solve('factorise', path, value)).toThrow(RangeError);
  });

  // With fewer elements than the matrix, reads would pass its end.
  it('a factorisation of a source that is whole in each slice', () => {
    const files = openFiles();
    const { sources, ...program } = programOf(files, []);
    const whole = { ...location(files.a), dtype: 'F32', slicing: 'whole', elements: 1 };
    const wrong = { ...program, sources: [...sources, whole] };
    expect(() => solve('factorise', 'program', wrong)).toThrow(RangeError);
  });

  it.each([
    ['of no width', 'width', 0],
    ['of fewer starts than rows', 'starts', Float64Array.of(0, 2, 2, 3)],
    ['of starts that go back', 'starts', Float64Array.of(0, 2, 1, 3, 3)],
    ['of starts beyond the terms', 'starts', Float64Array.of(0, 2, 2, 3, 4)],
    ['of starts that are no numbers', 'starts', Float64Array.of(0, Number.NaN, 2, 3, 3)],
    ['of rows that are none of the source', 'terms', Float64Array.of(0, 1, 3, 1, 1, 1)],
    ['of half a term', 'terms', Float64Array.of(0, 1, 2, 1, 1)],
    ['of a source that is no whole one', 'inputs', [1]],
  ])('sums of rows %s', (_, key, value) => {
    expect(() => door.run(combineJob(openFiles(), { [key]: value }), words())).toThrow(RangeError);
  });

  it.each([
    ['of no atoms', 'k', 0],
    ['of more atoms than there are', 'k', 3],
    ['of rows of another width', 'targets.columns', 4],
    ['of rows that are not whole', 'targets.count', columns + 1],
    ['of a part of the atoms', 'atoms.first', columns],
    ['of nothing', 'targets.count', 0],
    ['of no source', 'atoms.sources', []],
  ])('a pursuit %s', (_, path, value) => {
    expect(() => solve('pursue', path, value)).toThrow(RangeError);
  });

  it.each(Object.keys(solvers) as Solver[])('to %s into an array of another length or kind', (kind) => {
    const [make, numbers] = solvers[kind];
    const what = make(openFiles());
    for (const length of [numbers - 1, numbers + 1])
      if (length >= 0) expect(() => door.solve(what, new Float64Array(length), words())).toThrow(RangeError);
    for (const out of [[], new Float32Array(numbers), undefined])
      expect(() => door.solve(what, out, words())).toThrow(TypeError);
  });

  it.each(Object.keys(solvers) as Solver[])('to %s under a name that is none, or another', (kind) => {
    for (const other of ['', 'solve', 'constructor', `${kind} `, 'x'.repeat(40)])
      expect(() => solve(kind, 'kind', other)).toThrow(RangeError);
    for (const other of [undefined, null, 0]) expect(() => solve(kind, 'kind', other)).toThrow(TypeError);
    for (const other of Object.keys(solvers))
      if (other !== kind) expect(() => solve(kind, 'kind', other)).toThrow();
  });

  it.each([
    ['of a matrix that is none', 'values.1', 2],
    ['of a Gram matrix that is none', 'of.0', 2],
    ['of no matrix', 'values', []],
    ['of a Gram matrix too few', 'of', [0]],
    ['of a share too few', 'shares', [1]],
    ['of a share of nothing', 'shares.0', 0],
    ['of a share above all', 'shares.0', 1.5],
    ['of a scaling above 1', 'scaling', 1.5],
    ['of a negative ridge', 'ridge', -1],
    ['of an infinite ridge', 'ridge', Number.POSITIVE_INFINITY],
    ['of a part of the rows', 'matrices.first', columns],
    ['of rows that are not whole', 'matrices.count', count - 1],
    ['of nothing', 'matrices.count', 0],
    ['of Gram matrices with rows too few', 'grams.count', columns * (columns - 1)],
    ['of Gram matrices of another width', 'grams.columns', 2 * columns],
    ['to a place beyond all files', 'to.begin', 2 ** 53 - 8],
  ])('a regression %s', (_, path, value) => {
    expect(() => solve('regress', path, value)).toThrow(RangeError);
  });

  it.each([
    ['by a rule that is none', 'rule', 'tsv_c'],
    ['of a base that is none', 'base', 2],
    ['of a matrix that is none', 'sources.0', 2],
    ['of no matrix', 'sources', []],
    ['by an infinite scale', 'scale', Number.NEGATIVE_INFINITY],
    ['of a part of the rows', 'program.first', columns],
    ['of rows that are not whole', 'program.count', count - 1],
    ['of nothing', 'program.count', 0],
    ['to a place beyond all files', 'to.begin', 2 ** 53 - 8],
  ])('a merge by singular values %s', (_, path, value) => {
    expect(() => solve('mergeSpectra', path, value)).toThrow(RangeError);
  });

  it.runIf(hashes).each([
    ['of no file', '', []],
    ['of a part that begins in a block', '0.begin', 32],
    ['of a part that begins in a block of a message', '0.start', 1],
    ['of a part that begins before its message', '1.start', 64],
    ['of a part that ends in a block', '0.length', 63],
    ['beyond all files', '1.length', 2 ** 53],
    ['to its end beyond all files', '1.begin', 2 ** 53 - 64],
    ['of no file that can be open', '0.fd', -1],
  ])('a part to hash %s', (_, path, value) => {
    const ranges = path === '' ? value : having(hashed(openFiles()), path, value);
    expect(() => door.hash(ranges, states(), words())).toThrow(RangeError);
  });

  it.runIf(hashes)('parts to hash of more files than two, or into states of others', () => {
    const ranges = hashed(openFiles());
    expect(() => door.hash([...ranges, ...ranges], new Uint32Array(32), words())).toThrow(RangeError);
    for (const length of [8, 15, 17])
      expect(() => door.hash(ranges, new Uint32Array(length), words())).toThrow(RangeError);
    expect(() => door.hash(ranges, new Int32Array(16), words())).toThrow(TypeError);
    expect(() => door.hash(having(ranges, '0.last', 1), states(), words())).toThrow(TypeError);
  });

  it('a measurement into an array that a getter of another detaches', () => {
    const [first, second, third] = analysed();
    const out = [first, second, third];
    Object.defineProperty(out, 2, {
      get: () => {
        structuredClone(first, { transfer: [first?.buffer as ArrayBuffer] });
        return third;
      },
    });
    expect(() => door.measure(analysis(openFiles()), out, words())).toThrow(RangeError);
  });

  it('names that are no paths, and numbers that are no descriptors', () => {
    expect(() => door.exchange('a\0b', 'c')).toThrow(RangeError);
    expect(() => door.exchange('a')).toThrow(TypeError);
    expect(() => door.exchange(Buffer.from('a'), 'b')).toThrow(TypeError);
    for (const fd of [-1, 0.5, 2 ** 31, Number.NaN]) expect(() => door.lock(fd)).toThrow(RangeError);
    expect(() => door.lock('0')).toThrow(TypeError);
  });
});

it('holds no more memory for a measure of many values than it gives back', () => {
  const files = openFiles();
  const before = process.memoryUsage().rss;
  const counts = Array<Measure>(4096).fill({ kind: 'countMagnitude', value: 0, bits: 0 });
  const out = counts.map(() => new Float64Array(1));
  expect(door.measure(measurement(files, counts), out, words())).toMatchObject({ outcome: 'done' });
  expect(process.resourceUsage().maxRSS * 1024 - before).toBeLessThan(2 ** 30);
});

it('finds in a second look what is not finite, and leaves it out of overlaps', () => {
  const files = openFiles();
  const numbers = new Float32Array(count).fill(2);
  numbers[3] = Number.NaN;
  numbers[9] = Number.POSITIVE_INFINITY;
  const path = join(temporaryDirectory(), 'expert');
  writeFileSync(path, new Uint8Array(numbers.buffer));
  const expert = openSync(path, 'r');
  onTestFinished(() => closeSync(expert));
  const out = analysed();
  const shared = words();
  expect(door.measure(analysis({ ...files, b: expert }), out, shared)).toMatchObject({ outcome: 'done' });
  const [sums, nonFinite, overlaps] = out;
  expect([...(sums ?? [])].map(Number.isFinite)).toEqual([1, 0, 1, 0, 1, 1, 1, 1].map(Boolean));
  expect([...(nonFinite ?? [])]).toEqual([0, 2]);
  expect(overlaps?.[0]).toBeCloseTo(4 * (count - 2));
  // Each byte counts once.
  expect(shared[control.bytesRead]).toBe(BigInt(2 * 4 * count));
});

it('says so where the environment names an instruction set that is none', () => {
  const script = `const door = require(${JSON.stringify(file)});
    try { door.run({}, new BigInt64Array(3)); } catch (error) { console.log(error.message); }`;
  const { stdout } = spawnSync(process.execPath, ['-e', script], {
    encoding: 'utf8',
    env: { ...process.env, LAYERLOOM_ISA: 'none' },
  });
  expect(stdout).toContain('LAYERLOOM_ISA');
});

it('writes nothing of a job that it refuses', () => {
  const files = openFiles();
  expect(() => door.run(having(computeJob(files), 'program.first', -1), words())).toThrow();
  expect(readFileSync(files.out)).toHaveLength(0);
});
