import type { Pruning } from '../../operations/consensus.js';
import type { Expression } from '../../operations/expression.js';
import type { Sparsifier } from '../../operations/sparsifiers.js';
import type { ModelInput } from './method.js';
import { anyNumber, flag, invalid, numberParameter, type ParameterSpec, share } from './settings.js';
import { type TensorInput, tensorMethod, type Values, type WholeModels } from './tensor-method.js';

/** How a method of the task-vector family differs from the others. */
export interface TaskVectorFamily {
  readonly name: string;
  readonly title: string;
  readonly sparsifier?: Sparsifier['by'];
  /** Whether only changes of the elected sign count. */
  readonly elects: boolean;
  /** Defaults of `normalize` and `rescale`. */
  readonly normalize: boolean;
  readonly rescale: boolean;
  readonly dialects?: readonly string[];
}

const seed: ParameterSpec = {
  ...numberParameter('a whole number, 0 or more', (value) => Number.isSafeInteger(value) && value >= 0),
  default: 0,
};

/** `true` and `norm` restore the L1 norm of what was there, as mergekit does; `density` divides by the density, as PEFT and the DARE paper do. */
const rescale = (preset: boolean): ParameterSpec => ({
  expected: 'true, false, norm or density',
  accepts: (value) => [true, false, 'norm', 'density'].includes(value as boolean),
  default: preset,
});

const isRandom = (by: Sparsifier['by'] | undefined): boolean => by === 'random' || by === 'rank';

/** Parameters of a sparsifier, each model's own. */
const sparsifierParameters = (by: Sparsifier['by'] | undefined): Record<string, ParameterSpec> => ({
  ...(by === undefined ? {} : { density: share(1) }),
  ...(by === 'outliers'
    ? { gamma: numberParameter('a share from 0 to 1', (value) => value >= 0 && value <= 1, 0.01) }
    : {}),
  ...(by === 'rank'
    ? { epsilon: numberParameter('a share from 0 to 0.5', (value) => value >= 0 && value < 0.5, 0.15) }
    : {}),
});

/**
 * base + λ · Σ wᵢδᵢ / divisor, where δᵢ = xᵢ − base, sparsified; with an election the sum and the divisor are over what has the sign of Σ wᵢδᵢ. The
 * divisor is Σ wᵢ of what counts where `normalize` is on, else 1. (Ilharco et al. 2023; Yadav et al. 2023; Yu et al. 2023; mergekit's
 * generalised task arithmetic.)
 */
export const taskVectorMethod = (family: TaskVectorFamily) =>
  tensorMethod({
    name: family.name,
    title: family.title,
    base: 'required',
    shared: {
      normalize: flag(family.normalize),
      ...(family.sparsifier === undefined ? {} : { rescale: rescale(family.rescale) }),
      lambda: anyNumber(1),
      int8Mask: flag(false),
      ...(isRandom(family.sparsifier) ? { seed } : {}),
    },
    perModel: { weight: anyNumber(), ...sparsifierParameters(family.sparsifier) },
    ...(family.dialects === undefined ? {} : { dialects: family.dialects }),
    statistics: ({ base, models, dialect, constant }: WholeModels) =>
      dialect === 'paper'
        ? thresholds(
            base,
            models,
            models.map((_, index) => Number(constant(index, 'density'))),
          )
        : undefined,
    expression: (input, dialect) => expressionOf(family, input, dialect),
  });

const thresholds = (base: ModelInput, experts: readonly ModelInput[], densities: readonly number[]) => ({
  base,
  experts,
  what: { kind: 'thresholds' as const, densities },
});

const expressionOf = (family: TaskVectorFamily, input: TensorInput, dialect: string): Expression => {
  const { base = { model: 0 }, models, perModel, shared, tensor } = input;
  const weights = perModel.map(({ weight }) => Number(weight));
  const scale = Number(shared['lambda']);
  const normalizes = shared['normalize'] === true;
  const prunings = perModel.map((values, index) =>
    pruningOf(family, values, shared, `${tensor}/${index}`, dialect),
  );

  if (dialect === 'paper') {
    const terms = models.map((source, index) => ({
      source,
      weight: 1,
      pruning: {
        sparsifier: { by: 'threshold' as const, atLeast: input.thresholds[index] ?? 0 },
        rescale: null,
      },
    }));
    return {
      kind: 'consensus',
      base,
      terms,
      // The authors keep negative changes wherever the sign is not above 0.
      election: { weighted: false, tie: input.majoritySign > 0 ? 'positive' : 'negative' },
      divisor: 'count',
      scale,
    };
  }

  const terms = models.map((source, index) => ({
    source,
    weight: weights[index] ?? 0,
    pruning: prunings[index] ?? null,
  }));
  if (dialect === 'peft')
    return {
      kind: 'consensus',
      base,
      terms,
      election: { weighted: false, tie: 'positive' },
      divisor: 'count',
      scale,
    };
  if (family.elects)
    return {
      kind: 'consensus',
      base,
      terms,
      election: { weighted: true, tie: 'positive' },
      divisor: normalizes ? 'weights' : 'none',
      scale,
    };

  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const divisor = normalizes && Math.abs(total) >= 1e-8 ? total : 1;
  // Without pruning the sum of task vectors is a linear combination of the models.
  if (prunings.every((pruning) => pruning === null)) {
    const factors = weights.map((weight) => (scale * weight) / divisor);
    const rest = 1 - factors.reduce((sum, factor) => sum + factor, 0);
    return {
      kind: 'linear',
      terms: [
        { source: base, weight: rest },
        ...models.map((source, index) => ({ source, weight: factors[index] ?? 0 })),
      ],
    };
  }
  return { kind: 'consensus', base, terms, election: null, divisor: 'none', scale: scale / divisor };
};

/** Null where everything stays. */
const pruningOf = (
  { sparsifier: by }: TaskVectorFamily,
  values: Values,
  shared: Values,
  place: string,
  dialect: string,
): Pruning | null => {
  const density = Number(values['density'] ?? 1);
  if (by === undefined || density >= 1) return null;
  const given = shared['rescale'];
  const rescale = given === 'density' ? 'density' : given === false ? null : 'norm';
  const seedOf = `${String(shared['seed'])}/${place}`;
  switch (by) {
    case 'magnitude':
      return { sparsifier: { by, density, least: dialect === 'peft' ? 0 : 1 }, rescale };
    case 'outliers':
      return { sparsifier: { by, density, gamma: Number(values['gamma']) }, rescale };
    case 'random':
      return { sparsifier: { by, density, seed: seedOf }, rescale };
    case 'rank':
      checkEpsilon(density, Number(values['epsilon']));
      return { sparsifier: { by, density, epsilon: Number(values['epsilon']), seed: seedOf }, rescale };
    case 'threshold':
      return null;
  }
};

const checkEpsilon = (density: number, epsilon: number): void => {
  if (density + epsilon >= 1 || density - epsilon <= 0)
    throw invalid(
      ['epsilon'],
      epsilon,
      `a number that keeps density ± epsilon (${density} ± ${epsilon}) between 0 and 1`,
    );
};
