// The methods' arithmetic, one element at a time in float64, written from the papers and docs/methods.md
// instead of the engine. Task vectors are rounded to float32 once, as in the numeric contract, so that ties
// are the same.
import { createHash } from 'node:crypto';

export type Vector = readonly number[];

const { fround } = Math;

export const difference = (x: Vector, base: Vector): number[] => x.map((v, i) => fround(v - (base[i] ?? 0)));

const sum = (x: Vector): number => x.reduce((total, v) => total + v, 0);

const dot = (x: Vector, y: Vector): number => sum(x.map((v, i) => v * (y[i] ?? 0)));

const scaled = (x: Vector, by: number): number[] => x.map((v) => v * by);

const added = (x: Vector, y: Vector): number[] => x.map((v, i) => v + (y[i] ?? 0));

const order = (x: Vector): number[] =>
  [...x.keys()].sort((i, j) => Math.abs(x[j] ?? 0) - Math.abs(x[i] ?? 0) || i - j);

const only = (x: Vector, kept: readonly number[]): number[] => {
  const wanted = new Set(kept);
  return x.map((v, i) => (wanted.has(i) ? v : 0));
};

export const largest = (x: Vector, density: number, least = 1): number[] =>
  only(x, order(x).slice(0, Math.max(least, Math.floor(density * x.length))));

/** Keeps the last of equal magnitudes, since the ascending order is stable. */
export const withoutOutliers = (x: Vector, density: number, gamma: number): number[] => {
  const ascending = [...x.keys()].sort((i, j) => Math.abs(x[i] ?? 0) - Math.abs(x[j] ?? 0) || i - j);
  const kept = Math.floor(density * x.length);
  const from = Math.max(0, x.length - kept - Math.floor(gamma * x.length));
  return only(x, ascending.slice(from, from + kept));
};

const mask64 = (1n << 64n) - 1n;

/** SplitMix64 at a position of its sequence: 32 bits. */
const random = (seed: string, index: number): number => {
  const key = createHash('sha256').update(seed).digest().readBigUInt64BE(0);
  let z = (key + BigInt(index + 1) * 0x9e3779b97f4a7c15n) & mask64;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask64;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask64;
  return Number((z ^ (z >> 31n)) >> 32n);
};

export const dropped = (x: Vector, density: number, seed: string): number[] =>
  x.map((v, i) => (random(seed, i) < Math.floor(density * 2 ** 32) ? v : 0));

const ranks = (row: Vector): number[] => {
  const ascending = [...row.keys()].sort((a, b) => Math.abs(row[a] ?? 0) - Math.abs(row[b] ?? 0) || a - b);
  const places = row.map(() => 0);
  for (const [rank, index] of ascending.entries()) places[index] = rank;
  return places;
};

/**
 * @param columns of a row; ranks are within rows
 */
export const droppedByRank = (
  x: Vector,
  density: number,
  epsilon: number,
  seed: string,
  columns: number,
): number[] => {
  const rankAt = x.flatMap((_, i) => (i % columns === 0 ? ranks(x.slice(i, i + columns)) : []));
  return x.map((v, i) => {
    const chance = density - epsilon + 2 * epsilon * ((rankAt[i] ?? 0) / Math.max(1, columns - 1));
    return random(seed, i) < Math.floor(chance * 2 ** 32) ? v : 0;
  });
};

/** The remaining changes, scaled to the former L1 norm. */
export const restored = (before: Vector, after: Vector): number[] => {
  const [was, is] = [before, after].map((x) => sum(x.map(Math.abs))) as [number, number];
  return was >= 1e-7 && is >= 1e-7 ? after.map((v) => fround(v * fround(was / is))) : [...after];
};

export interface Rule {
  readonly weights: Vector;
  readonly elects?: 'weighted' | 'plain';
  readonly divisor?: 'weights' | 'count';
  readonly least?: number;
  readonly lambda?: number;
}

export const combined = (base: Vector, changes: readonly Vector[], rule: Rule): number[] =>
  base.map((b, i) => {
    const { weights, elects, divisor, least = 0, lambda = 1 } = rule;
    const own = changes.map((change) => change[i] ?? 0);
    const voices = own.map((x, t) => (elects === 'plain' ? x : fround(fround(weights[t] ?? 0) * x)));
    const elected = voices.reduce((total, voice) => fround(total + voice)) >= 0 ? 1 : -1;
    const agreeing = own.map((_, t) => elects === undefined || (voices[t] ?? 0) * elected > 0);
    const total = sum(own.map((x, t) => (agreeing[t] ? x * (weights[t] ?? 0) : 0)));
    const counted = sum(weights.map((weight, t) => (agreeing[t] ? (divisor === 'count' ? 1 : weight) : 0)));
    const by = divisor === undefined ? 1 : least > 0 ? Math.max(least, counted) : counted === 0 ? 1 : counted;
    return b + (lambda * total) / by;
  });

/**
 * TIES by its authors' code, with a whole model as one vector. Each task vector keeps the magnitudes that
 * reach its (⌊density · n⌋ + 1)-th largest. If the sum of changes has no sign, the sign of the sum of all
 * elements' signs counts. Positive changes count where the sign is positive, negative ones elsewhere, even
 * without a majority; they are averaged by their count.
 */
export const tiesOfAuthors = (base: Vector, changes: readonly Vector[], densities: Vector) => {
  const trimmed = changes.map((change, model) => {
    const magnitudes = change.map(Math.abs).sort((x, y) => y - x);
    const least = magnitudes[Math.floor((densities[model] ?? 1) * change.length)] ?? 0;
    return change.map((x) => (Math.abs(x) >= least ? x : 0));
  });
  const own = base.map((_, i) => trimmed.map((change) => change[i] ?? 0));
  const signs = own.map((at) => Math.sign(at.reduce((total, x) => fround(total + x))));
  const majority = Math.sign(sum(signs));
  const cancelled = own.filter((at, i) => signs[i] === 0 && at.some((x) => x !== 0)).length;
  const merged = base.map((b, i) => {
    const sign = signs[i] === 0 ? majority : (signs[i] ?? 0);
    const counted = (own[i] ?? []).filter((x) => (sign > 0 ? x > 0 : x < 0));
    return b + sum(counted) / Math.max(1, counted.length);
  });
  return { merged, majority, cancelled };
};

export const sce = (base: Vector, changes: readonly Vector[], share: number): number[] => {
  const variances = base.map((_, i) => {
    const own = changes.map((change) => change[i] ?? 0);
    const mean = sum(own) / own.length;
    return fround(sum(own.map((x) => (x - mean) ** 2)) / own.length);
  });
  const varying = variances.filter((x) => x !== 0).length;
  const kept = share < 1 ? order(variances).slice(0, Math.floor(varying * share)) : [...base.keys()];
  const masked = changes.map((change) => only(change, kept));
  const energies = masked.map((change) => dot(change, change) / base.length);
  const weights = energies.map((energy) =>
    sum(energies) < 1e-6 ? 1 / changes.length : energy / sum(energies),
  );
  return combined(base, masked, { weights, elects: 'plain', divisor: 'weights', least: 1e-6 });
};

export const nearSwap = (base: Vector, x: Vector, t: number): number[] =>
  base.map((a, i) => {
    const b = x[i] ?? 0;
    const w = Math.min(1, Math.max(0, t / Math.max(1e-6, Math.abs(a - b))));
    return w * b + (1 - w) * a;
  });

/** The mean of the changes above epsilon; those of only one model are multiplied by its bonus. */
export const ram = (
  base: Vector,
  changes: readonly Vector[],
  epsilon: number,
  { rate, most }: { rate: number; most: number } = { rate: 0, most: 0 },
): number[] => {
  const isLarge = (change: Vector, i: number) => Math.abs(change[i] ?? 0) > fround(epsilon);
  const makers = base.map((_, i) => changes.filter((change) => isLarge(change, i)));
  const bonuses = changes.map((change) => {
    const own = makers.filter((of) => of.includes(change));
    const alone = own.filter((of) => of.length === 1).length;
    return 1 + rate * Math.min(most, (own.length - alone) / Math.max(alone, epsilon));
  });
  return base.map((x, i) => {
    const of = makers[i] ?? [];
    const factor = of.length === 1 ? (bonuses[changes.indexOf(of[0] as Vector)] ?? 1) : 1;
    return x + (factor * sum(of.map((change) => change[i] ?? 0))) / Math.max(1, of.length);
  });
};

const softmax = (x: Vector): number[] => {
  const most = Math.max(...x);
  const powers = x.map((v) => Math.exp(v - most));
  return powers.map((v) => v / sum(powers) + 1e-8);
};

/** Importance of each element, and the threshold from which the model's is taken. */
export const importances = (base: Vector, x: Vector, columns: number) => {
  const rows = Array.from({ length: x.length / columns }, (_, row) => [row * columns, (row + 1) * columns]);
  const divergence = rows.map(([from, to]) => {
    const [p, q] = [softmax(x.slice(from, to)), softmax(base.slice(from, to))];
    return sum(p.map((v, i) => v * Math.log(v / (q[i] ?? 1))));
  });
  const importance = x.map((v, i) =>
    fround(
      Math.abs(fround(fround(v) - fround(base[i] ?? 0))) * fround(divergence[Math.floor(i / columns)] ?? 0),
    ),
  );
  const sorted = importance.toSorted((a, b) => a - b);
  const [q1, median, q3] = [0.25, 0.5, 0.75].map((q) => sorted[Math.floor(q * (x.length - 1))] ?? 0);
  return { importance, threshold: (median ?? 0) + 1.5 * ((q3 ?? 0) - (q1 ?? 0)) };
};

const norm = (x: Vector): number => Math.sqrt(dot(x, x));

export const slerp = (x: Vector, y: Vector, t: number): number[] => {
  const cosine = dot(x, y) / ((norm(x) > 1e-8 ? norm(x) : 1) * (norm(y) > 1e-8 ? norm(y) : 1));
  if (Math.abs(cosine) > 0.9995) return added(scaled(x, 1 - t), scaled(y, t));
  const theta = Math.acos(cosine);
  return scaled(
    added(scaled(x, Math.sin((1 - t) * theta)), scaled(y, Math.sin(t * theta))),
    1 / Math.sin(theta),
  );
};

/** The same without that tolerance. */
export const nuslerp = (x: Vector, y: Vector, t: number): number[] => {
  const cosine = dot(x, y) / (norm(x) * norm(y));
  if (1 - cosine * cosine <= 1e-16) return added(scaled(x, 1 - t), scaled(y, t));
  const theta = Math.acos(cosine);
  return scaled(
    added(scaled(x, Math.sin((1 - t) * theta)), scaled(y, Math.sin(t * theta))),
    1 / Math.sin(theta),
  );
};

/** Applied to each vector along dimension 0, `rows` elements long, separately. */
export const byColumns = (
  rows: number,
  of: (...columns: Vector[]) => Vector,
  ...vectors: readonly Vector[]
): number[] => {
  const count = (vectors[0]?.length ?? 0) / rows;
  const columns = Array.from({ length: count }, (_, column) =>
    of(...vectors.map((x) => Array.from({ length: rows }, (_, row) => x[row * count + column] ?? 0))),
  );
  return Array.from({ length: rows }, (_, row) => columns.map((column) => column[row] ?? 0)).flat();
};

/** With each row of `columns` by itself. */
export const byRows = (
  columns: number,
  of: (...rows: Vector[]) => Vector,
  ...vectors: readonly Vector[]
): number[] =>
  Array.from({ length: (vectors[0]?.length ?? 0) / columns }, (_, row) =>
    of(...vectors.map((x) => x.slice(row * columns, (row + 1) * columns))),
  ).flat();

export const modelStock = (base: Vector, models: readonly Vector[]): number[] => {
  const changes = models.map((x) => difference(x, base));
  const pairs = changes.flatMap((x, i) => changes.slice(i + 1).map((y) => [x, y] as const));
  const cosine = sum(pairs.map(([x, y]) => dot(x, y) / Math.max(norm(x) * norm(y), 1e-6))) / pairs.length;
  const n = models.length;
  const t = (n * cosine) / (1 + (n - 1) * cosine);
  const average = scaled(
    models.reduce(
      (total: Vector, x) => added(total, x),
      base.map(() => 0),
    ),
    1 / n,
  );
  return added(scaled(average, t), scaled(base, 1 - t));
};
