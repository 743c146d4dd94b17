import type { ElementSlice } from '../../../engine/compute/measures/read-values.js';
import { relativeDistance } from '../agreement.js';
import { type Elsewhere, elsewhereOf } from '../elsewhere.js';
import type { Evidence, Sampled } from '../evidence.js';
import { counted, type FaultKind, fault, layersIn, listed } from './kind.js';

// Faults of tensors in another place than the recipe's.

interface Moved {
  readonly sample: Sampled;
  readonly from: Elsewhere;
}

const movedIn = async (evidence: Evidence, names: readonly string[]): Promise<Moved[]> => {
  const moved: Moved[] = [];
  for (const sample of await evidence.sampled(names)) {
    const from = await evidence.once(`elsewhere ${sample.name}`, () => elsewhereOf(evidence, sample));
    if (from !== undefined) moved.push({ sample, from });
  }
  return moved;
};

const byLayer = ({ sample, from }: Moved): boolean =>
  sample.layer !== null &&
  from.layer !== null &&
  sample.layer !== from.layer &&
  sample.module === from.module;

const layerMap = (moved: readonly Moved[]): ReadonlyMap<number, number> =>
  new Map(moved.map(({ sample, from }) => [sample.layer ?? 0, from.layer ?? 0]));

const layerKind = (
  kind: string,
  isThis: (layers: ReadonlyMap<number, number>) => boolean,
  sentence: (layers: ReadonlyMap<number, number>) => string,
): FaultKind =>
  fault(kind, async (evidence, names) => {
    const moved = (await movedIn(evidence, names)).filter(byLayer);
    const layers = layerMap(moved);
    if (moved.length === 0 || !isThis(layers)) return undefined;
    return {
      tensors: moved.map(({ sample }) => sample.name),
      figures: { layers: [...layers].map(([to, from]) => `${to} from ${from}`).join(', ') },
      sentence: sentence(layers),
    };
  });

const pairsIn = (layers: ReadonlyMap<number, number>): string =>
  listed([...layers].map(([to, from]) => `layer ${to} has the tensors of layer ${from}`));

export const layersShifted = layerKind(
  'layers_shifted',
  (layers) => layers.size > 1 && new Set([...layers].map(([to, from]) => to - from)).size === 1,
  (layers) => {
    const [[to, from] = [0, 0]] = layers;
    return `${layersIn([...layers.keys()])} are shifted by ${to - from}: ${pairsIn(layers)}`;
  },
);

export const layersExchanged = layerKind(
  'layers_exchanged',
  (layers) =>
    [...layers].every(([to, from]) => to === from || layers.has(from)) &&
    new Set(layers.values()).size === layers.size,
  (layers) => `layers are in another order: ${pairsIn(layers)}`,
);

export const layersRepeated = layerKind(
  'layers_repeated',
  () => true,
  (layers) => `layers are repeated in place of others: ${pairsIn(layers)}`,
);

const numberOfExpert = (name: string): string | undefined => /\.experts\.(\d+)\./.exec(name)?.[1];

export const expertsPermuted = fault('experts_permuted', async (evidence, names) => {
  const moved = (await movedIn(evidence, names)).filter(({ sample, from }) => {
    const [to, other] = [numberOfExpert(sample.name), numberOfExpert(from.name)];
    return to !== undefined && other !== undefined && to !== other && sample.layer === from.layer;
  });
  const [first] = moved;
  if (first === undefined) return undefined;
  const tensors = moved.map(({ sample }) => sample.name);
  return {
    tensors,
    figures: {
      tensors: moved.length,
      layers: [...new Set(moved.map(({ sample }) => sample.layer))].join(', '),
    },
    sentence: `experts are in another order in ${layersIn(moved.map(({ sample }) => sample.layer))}: expert ${numberOfExpert(first.sample.name)} is expert ${numberOfExpert(first.from.name)} of the merge`,
  };
});

export const modulesExchanged = fault('modules_exchanged', async (evidence, names) => {
  const moved = (await movedIn(evidence, names)).filter(({ sample, from }) => sample.layer === from.layer);
  const [first] = moved;
  if (first === undefined) return undefined;
  return {
    tensors: moved.map(({ sample }) => sample.name),
    figures: { module: first.sample.module, from: first.from.module },
    sentence: `${counted(moved.length, 'tensor')} are those of another module: ${first.sample.name} is ${first.from.name} of the merge`,
  };
});

const mostRead = 1024 * 1024;
const mostTensors = 8;
const mostRows = 400_000;

/** Number of elements that identify a row, and relative difference that roundings may cause. */
const ofRow = 16;
const sameRow = 0.01;

const headsOf = async (
  rows: number,
  columns: number,
  read: (slice: ElementSlice) => Promise<Float32Array>,
): Promise<Float32Array[]> => {
  const heads: Float32Array[] = [];
  const step = Math.max(1, Math.floor(mostRead / columns));
  for (let row = 0; row < rows; row += step) {
    const count = Math.min(step, rows - row);
    const values = await read({ first: row * columns, count: count * columns });
    for (let at = 0; at < count; at += 1)
      heads.push(values.slice(at * columns, at * columns + Math.min(columns, ofRow)));
  }
  return heads;
};

const isSameRow = (a: Float32Array, b: Float32Array): boolean =>
  relativeDistance(a, b) <= sameRow || a.every((value, at) => value === b[at]);

/** Returns for each row of the output the equal row of the merge; undefined if any has no match. */
const rowOrder = async (
  evidence: Evidence,
  { name, shape }: Sampled,
): Promise<readonly number[] | undefined> => {
  const columns = shape.at(-1) ?? 1;
  const rows = shape.slice(0, -1).reduce((all, extent) => all * extent, 1);
  if (shape.length < 2 || rows < 2 || rows > mostRows) return undefined;
  const found = await headsOf(rows, columns, (slice) => evidence.readFound(name, [slice]));
  const wanted = await headsOf(rows, columns, (slice) => evidence.readWanted(name, [slice]));
  // After both are sorted, equal rows have equal places.
  const sorted = (heads: readonly Float32Array[]) =>
    [...heads.keys()].sort((a, b) => (heads[a]?.[0] ?? 0) - (heads[b]?.[0] ?? 0) || a - b);
  const [places, from] = [sorted(found), sorted(wanted)];
  const order = new Array<number>(rows);
  for (const [at, place] of places.entries()) {
    // Roundings may have exchanged neighbours.
    const near = [at, at - 1, at + 1].find((other) => {
      const [a, b] = [found[place], wanted[from[other] ?? -1]];
      return a !== undefined && b !== undefined && isSameRow(a, b);
    });
    if (near === undefined) return undefined;
    order[place] = from[near] ?? 0;
  }
  return order;
};

const isHalves = (order: readonly number[]): boolean =>
  order.length % 2 === 0 && order.every((row, at) => row === (at + order.length / 2) % order.length);

/** True if rows of two halves are interleaved, as some programs store fused matrices and rotary heads. */
const isInterleaved = (order: readonly number[], { role }: Sampled): boolean =>
  role !== 'embedding' &&
  role !== 'head' &&
  order.some((row, at) => Math.abs(row - at) > 1) &&
  order[0] === 0 &&
  order.at(-1) === order.length - 1;

const rowKind = (
  kind: string,
  isThis: (order: readonly number[], sample: Sampled) => boolean,
  sentence: (names: string, moved: number, rows: number) => string,
): FaultKind =>
  fault(kind, async (evidence, names) => {
    const found: { name: string; order: readonly number[] }[] = [];
    for (const sample of (await evidence.sampled(names)).slice(0, mostTensors)) {
      const order = await evidence.once(`rows ${sample.name}`, () => rowOrder(evidence, sample));
      if (order !== undefined && isThis(order, sample)) found.push({ name: sample.name, order });
    }
    const [first] = found;
    if (first === undefined) return undefined;
    const moved = first.order.filter((row, at) => row !== at).length;
    const tensors = found.map(({ name }) => name);
    return {
      tensors,
      figures: { rows: first.order.length, moved },
      sentence: sentence(listed(tensors), moved, first.order.length),
    };
  });

export const halvesExchanged = rowKind(
  'halves_exchanged',
  isHalves,
  (names) => `the halves of ${names} are exchanged: gate and up, or their like, are in the other order`,
);

export const rowsInterleaved = rowKind(
  'rows_interleaved',
  isInterleaved,
  (names, moved, rows) =>
    `${moved} of ${rows} rows of ${names} are interleaved in another way: rotary heads or fused halves of another convention`,
);

export const rowsPermuted = rowKind(
  'rows_permuted',
  (order) => order.some((row, at) => row !== at),
  (names, moved, rows) => `${moved} of ${rows} rows of ${names} are in another order`,
);
