import { createHash } from 'node:crypto';
import { LayerloomError } from '../../errors.js';
import { rowSenses } from '../../native/addon.js';
import type { Pruning } from '../../operations/expression.js';
import { type Gram, ruleNamed } from '../../operations/rules.js';
import { isSource, type Operand, type PlannedExpression } from '../../plan/plan.js';
import type { ArithmeticDtype } from '../../tensor/dtype.js';
import { bitsOfFloat, floatOfBits } from '../../tensor/float-bits.js';
import { decodeKept } from '../../tensor/kept.js';
import { boundsOf, everything, type Lowering, type MagnitudeBound, nothing } from './bounds.js';
import { type Program, sharedTable, type Value } from './program.js';

type Of<Kind extends PlannedExpression['kind']> = Extract<PlannedExpression, { kind: Kind }>;

/**
 * Turns an expression into a program: reduce, a little scalar arithmetic, map. Statistics are measured of the values that are already
 * written, and so of nested recipes too.
 *
 * @returns the value, rounded to `dtype`
 * @throws LayerloomError MERGE_UNDEFINED
 */
export const lower = async (
  expression: PlannedExpression,
  dtype: ArithmeticDtype,
  to: Lowering,
): Promise<Value> => {
  switch (expression.kind) {
    case 'copy':
      return to.program.source(expression.source);
    case 'same':
      throw new Error(`${to.tensor}: integers are not computed`);
    case 'linear':
      return await lowerLinear(expression, dtype, to);
    case 'rowSelect':
      return await lowerRowSelect(expression, dtype, to);
    case 'gram':
      return await lowerGram(expression, dtype, to);
    case 'consensus':
      return await lowerConsensus(expression, dtype, to);
    case 'sce':
      return await lowerSce(expression, dtype, to);
    case 'nearSwap': {
      const [a, b] = await operands([expression.base, expression.source], to);
      return to.program.add('nearSwap', [a, b] as Value[], [expression.t], { dtype });
    }
    case 'fusion':
      return await lowerFusion(expression, dtype, to);
  }
};

/** The values of operands, one after the other: each may measure, and a program has one order. */
const operands = async (all: readonly Operand[], to: Lowering): Promise<Value[]> => {
  const values: Value[] = [];
  for (const operand of all)
    values.push(
      isSource(operand)
        ? to.program.source(operand)
        : await lower(operand.expression, operand.dtype as ArithmeticDtype, to),
    );
  return values;
};

/** x − base in float32, the difference rounded once. */
const difference = ({ program }: Lowering, x: Value, base: Value): Value =>
  program.add('linear', [x, base], [1, -1]);

const lowerLinear = async ({ terms }: Of<'linear'>, dtype: ArithmeticDtype, to: Lowering): Promise<Value> => {
  const values = await operands(
    terms.map(({ source }) => source),
    to,
  );
  return to.program.add(
    'linear',
    values,
    terms.map(({ weight }) => weight),
    { dtype },
  );
};

const lowerRowSelect = async (
  { source, base, rows, kept }: Of<'rowSelect'>,
  dtype: ArithmeticDtype,
  to: Lowering,
): Promise<Value> => {
  const values = await operands([source, base], to);
  const count = to.program.shape[rows === 'input' ? 1 : 0] ?? 0;
  const table = sharedTable(decodeKept(kept, count));
  return to.program.add('select', values, [rowSenses[rows]], { dtype, table });
};

const lowerGram = async (expression: Of<'gram'>, dtype: ArithmeticDtype, to: Lowering): Promise<Value> => {
  const { rule, origin, sources, parameters } = expression;
  const { program, measurer, tensor } = to;
  const [first] = origin === null ? [] : await operands([origin], to);
  const values = await operands(sources, to);
  const vectors = first === undefined ? values : values.map((value) => difference(to, value, first));
  // A tensor of one dimension is one row, whichever way rows are meant.
  const of = program.shape.length < 2 ? 'tensor' : expression.of;
  if (of === 'input' && program.shape.length > 2)
    throw undefinedMerge(
      tensor,
      rule,
      `it has ${program.shape.length} dimensions, and only a matrix has input rows`,
    );
  const grams =
    of === 'tensor'
      ? await measurer.gram(program, vectors)
      : of === 'output'
        ? await measurer.rowGram(program, vectors)
        : await measurer.columnGram(program, vectors);

  const count = values.length;
  const coefficients: number[] = [];
  const pairs = (count * (count + 1)) / 2;
  for (let row = 0; row * pairs < grams.length; row += 1)
    coefficients.push(
      ...withOrigin(first !== undefined, apply(tensor, rule, gramAt(grams, row * pairs, count), parameters)),
    );
  const inputs = first === undefined ? values : [first, ...values];
  if (of === 'tensor') return program.add('linear', inputs, coefficients, { dtype });
  return program.add('rowLinear', inputs, [rowSenses[of]], { dtype, table: sharedTable(coefficients) });
};

/** origin + Σ c(x − origin), as weights of origin and x. */
const withOrigin = (hasOrigin: boolean, coefficients: readonly number[]): readonly number[] =>
  hasOrigin ? [1 - coefficients.reduce((sum, c) => sum + c, 0), ...coefficients] : coefficients;

/** Pairs i ≤ j in order, as a symmetric matrix. */
const gramAt = (pairs: Float64Array, at: number, count: number): Gram => ({
  count,
  of: (i, j) => {
    const [a, b] = i <= j ? [i, j] : [j, i];
    return pairs[at + a * count - (a * (a - 1)) / 2 + (b - a)] ?? 0;
  },
});

const apply = (
  tensor: string,
  name: string,
  gram: Gram,
  parameters: Of<'gram'>['parameters'],
): readonly number[] => {
  const coefficients = ruleNamed(name, tensor).coefficients(gram, parameters);
  if (typeof coefficients === 'string') throw undefinedMerge(tensor, name, coefficients);
  if (coefficients.length !== gram.count)
    throw undefinedMerge(tensor, name, `its rule gives ${coefficients.length} of ${gram.count} coefficients`);
  return coefficients;
};

const undefinedMerge = (tensor: string, method: string, reason: string): LayerloomError =>
  new LayerloomError('MERGE_UNDEFINED', { tensor, method, reason });

const lowerConsensus = async (
  { base, terms, election, divisor, scale }: Of<'consensus'>,
  dtype: ArithmeticDtype,
  to: Lowering,
): Promise<Value> => {
  const [origin] = (await operands([base], to)) as [Value];
  const values = await operands(
    terms.map(({ source }) => source),
    to,
  );
  const changes = await pruned(
    values.map((value) => difference(to, value, origin)),
    terms.map(({ pruning }) => pruning),
    to,
  );
  const divisors = { none: 0, weights: 1, count: 2 };
  return to.program.add(
    'vote',
    [origin, ...changes],
    [
      Number(election !== null),
      Number(election?.weighted ?? false),
      Number(election?.tie === 'positive'),
      divisors[divisor],
      0,
      scale,
      ...terms.map(({ weight }) => weight),
    ],
    { dtype },
  );
};

/** Task vectors as their prunings leave them: thresholds of all in one search, then norms where they are restored. */
const pruned = async (
  changes: readonly Value[],
  prunings: readonly (Pruning | null)[],
  to: Lowering,
): Promise<Value[]> => {
  const { program, measurer } = to;
  const bounds = await boundsOf(
    to,
    changes.flatMap((value, index) => wantedBounds(value, prunings[index] ?? null, program.elements)),
  );
  const next = () => bounds.shift() ?? nothing;
  const write = changes.map((value, index) => prunedBy(value, prunings[index] ?? null, to, next));
  const unscaled = write.map((of) => of(1));
  const restored = changes.flatMap((value, index) =>
    prunings[index]?.rescale === 'norm' ? [{ index, value }] : [],
  );
  if (restored.length > 0) {
    const before = restored.map(({ value }) => value);
    const after = restored.map(({ index }) => unscaled[index] as Value);
    const sums = await measurer.magnitudes(program, [...before, ...after]);
    for (const [position, { index }] of restored.entries()) {
      const [was, is] = [sums[position] ?? 0, sums[restored.length + position] ?? 0];
      // Norms of all but nothing are left alone, as in mergekit.
      if (was >= 1e-7 && is >= 1e-7) unscaled[index] = write[index]?.(was / is) as Value;
    }
  }
  for (const [index, pruning] of prunings.entries())
    if (pruning?.rescale === 'density' && 'density' in pruning.sparsifier)
      unscaled[index] = write[index]?.(1 / pruning.sparsifier.density) as Value;
  return unscaled;
};

/** The places in the order of magnitudes that a sparsifier cuts at. */
const wantedBounds = (value: Value, pruning: Pruning | null, elements: number) => {
  const sparsifier = pruning?.sparsifier;
  if (sparsifier?.by === 'magnitude') {
    const kept = Math.max(sparsifier.least, Math.floor(sparsifier.density * elements));
    return [{ value, kept, early: true }];
  }
  if (sparsifier?.by === 'outliers') {
    const target = Math.floor(sparsifier.density * elements);
    const top = Math.floor(sparsifier.gamma * elements);
    const dropped = Math.max(0, elements - target - top);
    return [
      { value, kept: elements - dropped, early: false },
      { value, kept: elements - dropped - target, early: false },
    ];
  }
  return [];
};

const keepNumbers = (lower: MagnitudeBound, upper: MagnitudeBound, scale: number): number[] => [
  lower.bits,
  lower.cutoff,
  Number(lower.early),
  upper.bits,
  upper.cutoff,
  Number(upper.early),
  scale,
];

/** Writes a task vector's elements of at least a magnitude, multiplied by `scale`; the others are 0. */
export const reaching = (program: Program, value: Value, atLeast: number, scale: number): Value => {
  const bound = { bits: bitsOfFloat(atLeast), cutoff: program.elements, early: true };
  return program.add('keep', [value, value], keepNumbers(bound, nothing, scale));
};

/** How to write a pruned task vector, for any scale. */
const prunedBy = (
  value: Value,
  pruning: Pruning | null,
  { program }: Lowering,
  next: () => MagnitudeBound,
): ((scale: number) => Value) => {
  if (pruning === null) return () => value;
  const { sparsifier } = pruning;
  switch (sparsifier.by) {
    case 'magnitude': {
      const bound = next();
      return (scale) => program.add('keep', [value, value], keepNumbers(bound, nothing, scale));
    }
    case 'outliers': {
      const [lowest, highest] = [next(), next()];
      return (scale) => program.add('keep', [value, value], keepNumbers(lowest, highest, scale));
    }
    case 'threshold':
      return (scale) => reaching(program, value, sparsifier.atLeast, scale);
    case 'random': {
      const key = keyOf(sparsifier.seed);
      return (scale) => program.add('drop', [value], [...key, sparsifier.density, scale]);
    }
    case 'rank': {
      const key = keyOf(sparsifier.seed);
      const { density, epsilon } = sparsifier;
      return (scale) =>
        program.add('dropRanked', [value], [...key, density - epsilon, density + epsilon, scale]);
    }
  }
};

/** 64 bits of a text's SHA-256, in two words: what the counter-based generator is keyed by. */
const keyOf = (text: string): [number, number] => {
  const hash = createHash('sha256').update(text).digest();
  return [hash.readUInt32BE(0), hash.readUInt32BE(4)];
};

const lowerSce = async (
  { base, sources, share }: Of<'sce'>,
  dtype: ArithmeticDtype,
  to: Lowering,
): Promise<Value> => {
  const { program, measurer } = to;
  const [origin] = (await operands([base], to)) as [Value];
  const values = await operands(sources, to);
  let changes = values.map((value) => difference(to, value, origin));
  if (share < 1) {
    const variance = program.add('variance', changes);
    const [zeros = 0] = await measurer.zeros(program, [variance]);
    const kept = Math.floor((program.elements - zeros) * share);
    const [bound = nothing] = await boundsOf(to, [{ value: variance, kept, early: true }]);
    changes = changes.map((change) =>
      program.add('keep', [change, variance], keepNumbers(bound, nothing, 1)),
    );
  }
  const count = changes.length;
  const gram = gramAt(await measurer.gram(program, changes), 0, count);
  const energies = changes.map((_, index) => gram.of(index, index) / program.elements);
  const total = energies.reduce((sum, energy) => sum + energy, 0);
  // As in mergekit, where all but nothing changed every model counts the same.
  const weights = energies.map((energy) => (Math.abs(total) < 1e-6 ? 1 / count : energy / total));
  return program.add('vote', [origin, ...changes], [1, 0, 1, 1, 1e-6, 1, ...weights], { dtype });
};

const lowerFusion = async (
  { base, source }: Of<'fusion'>,
  dtype: ArithmeticDtype,
  to: Lowering,
): Promise<Value> => {
  const { program, measurer } = to;
  const [origin, value] = (await operands([base, source], to)) as [Value, Value];
  const change = difference(to, value, origin);
  const table = sharedTable(await measurer.divergence(program, value, origin));
  const importance = program.add('importance', [value, origin], [], { table });
  const last = program.elements - 1;
  const [q1, median, q3] = (
    await boundsOf(
      to,
      [0.25, 0.5, 0.75].map((q) => ({
        value: importance,
        kept: program.elements - Math.floor(q * last),
        early: true,
        threshold: true,
      })),
    )
  ).map(({ bits }) => floatOfBits(bits)) as [number, number, number];
  const threshold = Math.fround(median + Math.fround(1.5 * Math.fround(q3 - q1)));
  const bound = { ...everything, bits: bitsOfFloat(threshold), cutoff: program.elements };
  const fused = program.add('keep', [change, importance], keepNumbers(bound, nothing, 1));
  return program.add('linear', [origin, fused], [1, 1], { dtype });
};
