import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { control, jobKinds, measureKinds, nodeKinds, rowSenses } from '../../src/native/addon.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

// The native door itself, which is asked for what its TypeScript side cannot say.

const file = fileURLToPath(
  new URL(`../../prebuilds/${process.platform}-${process.arch}/layerloom.node`, import.meta.url),
);

type Call = (...values: unknown[]) => { outcome: number };

const door: Record<'execute' | 'reduce' | 'measure' | 'lock' | 'exchange', Call> = createRequire(
  import.meta.url,
)(file);

const dtypes = { bf16: 0, f32: 2, f64: 3, e4m3: 4 };

/** Elements of the files that jobs below are of: 4 rows of 8. */
const columns = 8;
const count = 4 * columns;

/** Two sources and an output, of as many bytes as `count` float64 take. */
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

const range = (fd: number, dtype = dtypes.f32, offset = 0) => ({ fd, offset, dtype });

const copyJob = ({ a, out }: Files) => ({
  kind: jobKinds.copy,
  sources: [range(a)],
  output: range(out),
  count,
});

const rowsJob = ({ a, b, out }: Files) => ({
  kind: jobKinds.rowSelect,
  sources: [range(a), range(b)],
  output: range(out),
  count,
  select: { kept: new Uint8Array(columns), columns, width: 1, first: 0, sense: rowSenses.input as number },
});

const node = (
  kind: keyof typeof nodeKinds,
  inputs: readonly number[],
  numbers: readonly number[],
  more = {},
) => ({
  kind: nodeKinds[kind],
  dtype: dtypes.f32,
  inputs,
  numbers,
  ...more,
});

const computeJob = (
  { a, b, out }: Files,
  nodes: readonly ReturnType<typeof node>[] = [node('linear', [0, 1], [1, 1])],
  dtype = dtypes.f32,
) => ({
  kind: jobKinds.compute,
  sources: [range(a, dtype), range(b, dtype)],
  program: { nodes, first: 0, columns },
  outputs: [{ value: 1 + nodes.length, to: range(out, nodes.at(-1)?.dtype) }],
  count,
});

const reduction = ({ a, b }: Files) => ({
  sources: [range(a), range(b)],
  rows: count / columns,
  columns,
  sense: rowSenses.input,
});

const sums = () => ({
  magnitudes: new Float64Array(columns),
  pairs: new Float64Array(3),
  nonFinite: new Float64Array(2),
});

/** By output rows, of which there are few, so that sums of the right lengths can be given. */
const wide = (files: Files, rows: number, columns: number) => ({
  ...reduction(files),
  rows,
  columns,
  sense: rowSenses.output,
});

const byRows = (rows: number) => ({ ...sums(), magnitudes: new Float64Array(rows) });

const measurement = ({ a, b }: Files) => ({
  kind: measureKinds.gram as number,
  sources: [range(a), range(b)],
  program: { nodes: [], first: 0, columns },
  count,
  values: [0],
  numbers: new Float64Array(),
  bins: 0,
});

/** @param numbers low, last, shift and candidates of a window */
const histogram = (files: Files, ...numbers: number[]) => ({
  ...measurement(files),
  kind: measureKinds.histogram,
  numbers: Float64Array.from(numbers),
  bins: 256,
});

const none = 0xffff_ffff;

const detached = () => {
  const array = new BigInt64Array(control.words);
  structuredClone(array, { transfer: [array.buffer] });
  return array;
};

/** A copy, with another value at a path. */
const having = (whole: unknown, path: string, value: unknown): unknown => {
  const [key = '', ...rest] = path.split('.');
  const copy = (Array.isArray(whole) ? [...whole] : { ...(whole as object) }) as Record<string, unknown>;
  copy[key] = rest.length === 0 ? value : having(copy[key], rest.join('.'), value);
  return copy;
};

describe('the native door takes a job that is right', () => {
  it.each([
    ['a copy', (files: Files) => door.execute(copyJob(files), words())],
    ['rows', (files: Files) => door.execute(rowsJob(files), words())],
    ['a computation', (files: Files) => door.execute(computeJob(files), words())],
    ['a reduction', (files: Files) => door.reduce(reduction(files), sums(), words())],
    [
      'a measurement',
      (files: Files) => door.measure(measurement(files), new Float64Array(1), new Uint32Array(), words()),
    ],
    [
      'a histogram',
      (files: Files) =>
        door.measure(
          histogram(files, 1, 2 ** 31 - 1, 23, 5, 7, none, none),
          new Float64Array(5),
          new Uint32Array(256),
          words(),
        ),
    ],
  ])('%s', (_, call) => {
    expect(call(openFiles())).toMatchObject({ outcome: 0 });
  });

  it('a slice of no elements, which has nothing to map', () => {
    const files = openFiles();
    for (const job of [copyJob(files), rowsJob(files), computeJob(files)])
      expect(door.execute({ ...job, count: 0 }, words())).toMatchObject({ outcome: 0 });
  });

  it('whatever the arrays to fill held before', () => {
    const files = openFiles();
    const found = sums();
    found.magnitudes.fill(Number.NaN);
    found.pairs.fill(5);
    expect(door.reduce(reduction(files), found, words())).toMatchObject({ outcome: 0 });
    expect([...found.magnitudes, ...found.pairs]).toEqual([...new Float64Array(columns + 3)]);
  });
});

const selectNode = (dtype: number, inputs = [0, 1]) =>
  node('select', inputs, [rowSenses.input], { dtype, table: new Float64Array(columns), tableRow: 0 });
const rowLinear = (length: number, sense: number, tableRow = 0) =>
  node('rowLinear', [0, 1], [sense], { table: new Float64Array(length), tableRow });

describe('the native door refuses, before it touches a file,', () => {
  it.each<[string, (files: Files) => unknown]>([
    ['as many elements as would wrap in bytes', (f) => having(computeJob(f), 'count', 2 ** 62)],
    ['more elements than an integer can say', (f) => having(computeJob(f), 'count', 2 ** 53)],
    ['a range whose end wraps', (f) => having(copyJob(f), 'sources.0.offset', Number.MAX_SAFE_INTEGER)],
    ['an output whose end wraps', (f) => having(copyJob(f), 'output.offset', Number.MAX_SAFE_INTEGER)],
    ['a slice that begins before its tensor', (f) => having(computeJob(f), 'program.first', -8)],
    ['a slice that ends beyond every tensor', (f) => having(computeJob(f), 'program.first', 2 ** 53 - 8)],
    ['rows that begin before their matrix', (f) => having(rowsJob(f), 'select.first', -8)],
    ['rows whose bytes wrap', (f) => having(rowsJob(f), 'select.columns', 2 ** 53 - 1)],
    ['rows of elements of no width', (f) => having(rowsJob(f), 'select.width', 0)],
    ['rows of a width that no dtype has', (f) => having(rowsJob(f), 'select.width', 2 ** 40)],
    ['columns that are not as many as the kept ones', (f) => having(rowsJob(f), 'select.columns', 9)],
    [
      'fewer kept rows than the slice has',
      (f) => having(having(rowsJob(f), 'select.sense', 1), 'select.first', 256),
    ],
    ['a copy of two sources', (f) => having(copyJob(f), 'sources', [range(f.a), range(f.b)])],
    ['a row sense that is no number', (f) => having(rowsJob(f), 'select.sense', Number.NaN)],
    ['a row sense of a node that is no number', (f) => computeJob(f, [rowLinear(16, Number.NaN)])],
    ['a row sense that a cast would make 0', (f) => computeJob(f, [rowLinear(8, 256)])],
    ['a row sense between two', (f) => computeJob(f, [rowLinear(8, 256.5)])],
    ['a row sense below the first', (f) => computeJob(f, [rowLinear(8, -1)])],
    ['a table too short for the columns', (f) => computeJob(f, [rowLinear(15, rowSenses.input)])],
    ['a table too short for the rows', (f) => computeJob(f, [rowLinear(7, rowSenses.output)])],
    ['a table that begins after the slice', (f) => computeJob(f, [rowLinear(64, rowSenses.output, 1)])],
    ['rows selected in another dtype', (f) => computeJob(f, [selectNode(dtypes.f64)], dtypes.bf16)],
    [
      'rows selected in another dtype within a program',
      (f) =>
        computeJob(
          f,
          [
            node('linear', [0, 1], [1, 1], { dtype: dtypes.e4m3 }),
            selectNode(dtypes.f64, [2, 2]),
            node('linear', [3], [1]),
          ],
          dtypes.e4m3,
        ),
    ],
    ['a node of itself', (f) => computeJob(f, [node('linear', [2], [1])])],
    ['a node of too few inputs', (f) => computeJob(f, [node('nearSwap', [0], [1])])],
    ['a node of too many inputs', (f) => computeJob(f, [node('nearSwap', [0, 1, 0], [1])])],
    ['a node of too few numbers', (f) => computeJob(f, [node('keep', [0, 1], [0, 0, 0, 0, 0, 0])])],
    ['a bound that is no word', (f) => computeJob(f, [node('keep', [0, 1], [2 ** 32, 0, 0, 0, 0, 0, 1])])],
    ['a cutoff that is no index', (f) => computeJob(f, [node('keep', [0, 1], [0, -1, 0, 0, 0, 0, 1])])],
    ['a key that is no words', (f) => computeJob(f, [node('drop', [0], [0.5, 0, 1, 1])])],
    ['a probability that is no number', (f) => computeJob(f, [node('drop', [0], [0, 0, Number.NaN, 1])])],
    [
      'more ranks than a row can have',
      (f) =>
        having(
          having(computeJob(f, [node('dropRanked', [0], [0, 0, 0, 1, 1])]), 'program.columns', 2 ** 33),
          'count',
          0,
        ),
    ],
    ['an unknown divisor', (f) => computeJob(f, [node('vote', [0, 1], [0, 0, 0, 1.5, 0, 1, 1])])],
    ['an output of another dtype', (f) => having(computeJob(f), 'outputs.0.to.dtype', dtypes.f64)],
    [
      'a node that goes to two places',
      (f) => having(computeJob(f), 'outputs', Array(2).fill(computeJob(f).outputs[0])),
    ],
    ['rows of no columns', (f) => having(computeJob(f), 'program.columns', 0)],
    ['an unknown kind', (f) => having(copyJob(f), 'kind', 4)],
    ['an unknown dtype', (f) => having(copyJob(f), 'sources.0.dtype', 6)],
    ['a descriptor that is none', (f) => having(copyJob(f), 'output.fd', -1)],
    ['no sources', (f) => having(copyJob(f), 'sources', [])],
    [
      'so many sources that a process has no mappings left',
      (f) => having(computeJob(f), 'sources', Array(70_000).fill(range(f.a))),
    ],
  ])('%s', (_, job) => {
    const files = openFiles();
    expect(() => door.execute(job(files), words())).toThrow(RangeError);
  });

  it.each<[string, (files: Files) => unknown]>([
    ['nothing', () => undefined],
    ['a number', () => 5],
    ['a job without a count', (f) => having(copyJob(f), 'count', undefined)],
    ['a count that is a big integer', (f) => having(copyJob(f), 'count', 32n)],
    ['sources that are no list', (f) => having(copyJob(f), 'sources', { 0: range(f.a), length: 1 })],
    ['a list with a hole', (f) => having(copyJob(f), 'sources', new Array(2 ** 32 - 1))],
    ['a computation without a program', (f) => having(computeJob(f), 'program', undefined)],
    ['a kept list of another type', (f) => having(rowsJob(f), 'select.kept', new Uint16Array(columns))],
    [
      'a table of another type',
      (f) => computeJob(f, [{ ...rowLinear(64, 0), table: new Float32Array(64) } as never]),
    ],
  ])('%s, which is ill typed', (_, job) => {
    const files = openFiles();
    expect(() => door.execute(job(files), words())).toThrow(TypeError);
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
    expect(() => door.execute(copyJob(files), shared())).toThrow(error);
    expect(() => door.reduce(reduction(files), sums(), shared())).toThrow(error);
    expect(() => door.measure(measurement(files), new Float64Array(1), new Uint32Array(), shared())).toThrow(
      error,
    );
  });

  it.each<[string, (files: Files) => [unknown, unknown], new () => Error]>([
    ['so many columns that elements wrap', (f) => [wide(f, 4, 2 ** 62), byRows(4)], RangeError],
    [
      'so many rows and columns that elements wrap',
      (f) => [wide(f, 4096, 2 ** 52), byRows(4096)],
      RangeError,
    ],
    [
      'sums of another length',
      (f) => [reduction(f), { ...sums(), magnitudes: new Float64Array(7) }],
      RangeError,
    ],
    ['pairs of another length', (f) => [reduction(f), { ...sums(), pairs: new Float64Array(1) }], RangeError],
    ['sums of another type', (f) => [reduction(f), { ...sums(), nonFinite: new Float32Array(2) }], TypeError],
    ['a base alone', (f) => [having(reduction(f), 'sources', [range(f.a)]), sums()], RangeError],
    [
      'sums that a getter of another detaches',
      (f) => {
        const { magnitudes, ...others } = sums();
        const arrays = {
          magnitudes,
          get pairs() {
            structuredClone(magnitudes, { transfer: [magnitudes.buffer] });
            return others.pairs;
          },
          nonFinite: others.nonFinite,
        };
        return [reduction(f), arrays];
      },
      RangeError,
    ],
  ])('a reduction with %s', (_, given, error) => {
    expect(() => door.reduce(...given(openFiles()), words())).toThrow(error);
  });

  it.each<[string, (files: Files) => unknown, unknown, unknown, new () => Error]>([
    [
      'with a gap among its candidates',
      (f) => histogram(f, 1, 2 ** 31 - 1, 23, 5, none, 7, none),
      new Float64Array(5),
      new Uint32Array(256),
      RangeError,
    ],
    [
      'with a candidate outside its window',
      (f) => histogram(f, 8, 64, 0, 5, none, none, none),
      new Float64Array(5),
      new Uint32Array(256),
      RangeError,
    ],
    [
      'with a window of more bins than it has',
      (f) => histogram(f, 1, 2 ** 31 - 1, 22, none, none, none, none),
      new Float64Array(5),
      new Uint32Array(256),
      RangeError,
    ],
    [
      'with fewer counts than its bins',
      (f) => histogram(f, 1, 2 ** 31 - 1, 23, none, none, none, none),
      new Float64Array(5),
      new Uint32Array(255),
      RangeError,
    ],
    [
      'with counts of another type',
      (f) => histogram(f, 1, 2 ** 31 - 1, 23, none, none, none, none),
      new Float64Array(5),
      new Uint8Array(256),
      TypeError,
    ],
    ['into too little', measurement, new Float64Array(), new Uint32Array(), RangeError],
    ['into another type', measurement, new Float32Array(1), new Uint32Array(), TypeError],
    [
      'of no values',
      (f) => having(measurement(f), 'values', []),
      new Float64Array(),
      new Uint32Array(),
      RangeError,
    ],
    [
      'of unknown values',
      (f) => having(measurement(f), 'values', [2]),
      new Float64Array(1),
      new Uint32Array(),
      RangeError,
    ],
    [
      'of a tie of two values',
      (f) => ({
        ...measurement(f),
        kind: measureKinds.findTie,
        values: [0, 1],
        numbers: new Float64Array(4),
      }),
      new Float64Array(1),
      new Uint32Array(),
      RangeError,
    ],
    [
      'of rows that are cut',
      (f) => having(measurement(f), 'count', 31),
      new Float64Array(1),
      new Uint32Array(),
      RangeError,
    ],
  ])('a measurement %s', (_, what, out, counts, error) => {
    expect(() => door.measure(what(openFiles()), out, counts, words())).toThrow(error);
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
  const values = Array<number>(4096).fill(0);
  const ties = { ...measurement(files), kind: measureKinds.ties, values, numbers: new Float64Array(4096) };
  expect(door.measure(ties, new Float64Array(4096), new Uint32Array(), words())).toMatchObject({
    outcome: 0,
  });
  expect(process.resourceUsage().maxRSS * 1024 - before).toBeLessThan(2 ** 30);
});

it('says so where the environment names an instruction set that is none', () => {
  const script = `const door = require(${JSON.stringify(file)});
    try { door.execute({}, new BigInt64Array(3)); } catch (error) { console.log(error.message); }`;
  const { stdout } = spawnSync(process.execPath, ['-e', script], {
    encoding: 'utf8',
    env: { ...process.env, LAYERLOOM_ISA: 'none' },
  });
  expect(stdout).toContain('LAYERLOOM_ISA');
});

it('writes nothing of a job that it refuses', () => {
  const files = openFiles();
  expect(() => door.execute(having(computeJob(files), 'program.first', -1), words())).toThrow();
  expect(readFileSync(files.out)).toHaveLength(0);
});
