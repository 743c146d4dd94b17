import { invalidParameter } from '../core/base/errors/invalid-parameter.js';
import { optionName } from '../core/base/errors/option-name.js';
import { wayFrom } from '../core/base/way.js';
import {
  type ChosenUnit,
  chooseByThreshold,
  chooseTop,
  type UnitSource,
  unitsOf,
} from '../core/measure/choice/choose.js';
import { type Measure, measuredModules, readExpertChange } from '../core/measure/choice/expert-change.js';
import { type Statistic, statistics, type UnitKind, units } from '../core/measure/choice/rules.js';
import { formatLayers } from '../core/methods/framework/layer-set.js';
import type { PartParameters, SwapOfParts } from '../core/methods/recipes.js';

/** Measurements and rule of `chooseParts`. */
export interface ChooseParameters {
  /** Measurement of the task expert: `NAME.json` of `analyze`, or the output of `diff BASE EXPERT --json`. */
  task: string;
  /** Measurement of the language expert, in the same form. */
  language: string;
  /** Choose whole layers, or attention and feed-forward modules separately; default `layer`. */
  by?: UnitKind | undefined;
  /**
   * Threshold, 0 or more: the expert whose share of change is larger by more than this gives the layer or
   * module; otherwise it is blended. Default 0.001. Not with `top`.
   */
  tau?: number | undefined;
  /** Weight of the task expert in blends, 0 to 1; default 0.5. */
  alpha?: number | undefined;
  /** Number of layers or modules to take from the language expert: those with the largest statistic. */
  top?: number | undefined;
  /**
   * Statistic for `top`: the share of the language expert's change (`change`), or this share minus the
   * task expert's (`difference`, the default).
   */
  statistic?: Statistic | undefined;
}

/** Options of `chooseParts`. */
export interface ChooseOptions {
  /** Recipe's folder, for relative paths of models; default: the working directory. */
  folder?: string | undefined;
}

/** Parts of a swap, chosen by measuring its experts. */
export interface ChosenParts {
  /** Recipe, which no longer needs the measurements. */
  readonly recipe: { readonly method: 'layer_swap' } & SwapOfParts;
  readonly measure: Measure;
  readonly by: UnitKind;
  readonly tau: number | null;
  readonly alpha: number;
  readonly top: number | null;
  readonly statistic: Statistic | null;
  /** Every layer or module with the experts' shares of change, from the bottom. */
  readonly units: readonly ChosenUnit[];
}

/**
 * Decides which expert gives each layer or module, by how much each expert changed it: by a threshold (arXiv
 * 2601.22620), or the `top` ones by a statistic. Tensors outside the layers are blended.
 *
 * @throws LayerloomError INVALID_PARAMETER, MEASUREMENT_INVALID, READ_FAILED
 */
export const chooseParts = async (
  { task, language, by = 'layer', tau, alpha = 0.5, top, statistic }: ChooseParameters,
  { folder = '.' }: ChooseOptions = {},
): Promise<ChosenParts> => {
  if (!units.includes(by)) throw invalidParameter('by', by, units.join(' or '));
  if (!(typeof alpha === 'number' && alpha >= 0 && alpha <= 1))
    throw invalidParameter('alpha', alpha, 'a number from 0 to 1');
  if (tau !== undefined && !(typeof tau === 'number' && tau >= 0))
    throw invalidParameter('tau', tau, 'a number, 0 or more');
  if (top === undefined && statistic !== undefined)
    throw invalidParameter('statistic', statistic, `no value without ${optionName('top')}`);
  if (statistic !== undefined && !statistics.includes(statistic))
    throw invalidParameter('statistic', statistic, statistics.join(' or '));
  if (top !== undefined && tau !== undefined)
    throw invalidParameter('tau', tau, `no value together with ${optionName('top')}, which decides instead`);
  const [first, second] = await Promise.all([task, language].map(readExpertChange));
  if (first === undefined || second === undefined) throw new Error('two files give two experts');
  const all = unitsOf(first, second, by);
  if (top !== undefined && !(Number.isInteger(top) && top >= 0 && top <= all.length))
    throw invalidParameter('top', top, `a whole number from 0 to ${all.length}, the number of ${by}s`);
  const chosen =
    top === undefined ? chooseByThreshold(all, tau ?? 0.001) : chooseTop(all, top, statistic ?? 'difference');
  const way = (path: string) => wayFrom(folder, path);
  return {
    recipe: {
      method: 'layer_swap',
      task: way(first.path),
      language: way(second.path),
      base: way(first.base),
      parts: partsOf(chosen, alpha, top === undefined ? 'language' : 'task'),
    },
    measure: first.measure,
    by,
    tau: top === undefined ? (tau ?? 0.001) : null,
    alpha,
    top: top ?? null,
    statistic: top === undefined ? null : (statistic ?? 'difference'),
    units: chosen,
  };
};

/** @param unmeasured the expert that gives the norms if single modules are chosen */
const partsOf = (
  chosen: readonly ChosenUnit[],
  alpha: number,
  unmeasured: 'task' | 'language',
): PartParameters[] => {
  const blend = { models: ['task', 'language'], weights: [alpha, 1 - alpha] };
  const modelOf = (from: UnitSource): PartParameters => (from === 'blend' ? blend : { model: from });
  const isByModule = chosen.some(({ module }) => module !== null);
  const parts = (isByModule ? measuredModules : [null]).flatMap((module) =>
    (['task', 'language', 'blend'] as const).flatMap((from) => {
      const layers = chosen.filter((unit) => unit.module === module && unit.from === from);
      if (layers.length === 0) return [];
      return {
        ...modelOf(from),
        layers: formatLayers(layers.map(({ layer }) => layer)),
        ...(module === null ? {} : { modules: [module] }),
      };
    }),
  );
  return [
    ...parts,
    { ...blend, layers: 'outside' },
    ...(isByModule ? [{ model: unmeasured, layers: 'rest' }] : []),
  ];
};
