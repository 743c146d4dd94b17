import { invalidParameter } from '../core/base/errors/invalid-parameter.js';
import { itemAt } from '../core/base/errors/lookup.js';
import type { ReduceOptions } from '../core/engine/compute/measures/reduce.js';
import { layerProfile } from '../core/measure/analysis/advice/layer-profile.js';
import { type SuggestedLayers, suggestLayers } from '../core/measure/analysis/advice/suggestion.js';
import { fileName, type MavVectors } from '../core/measure/analysis/analysis.js';
import { sharesOf } from '../core/measure/analysis/shares.js';
import { computeTaskVectors } from '../core/measure/analysis/task-vectors.js';
import { meanMavOf } from '../core/methods/framework/declaration/parameters.js';
import type { Side } from '../core/methods/framework/part-names.js';
import { bringModels } from '../core/models/sources/bring-models.js';
import type { ExperimentInput } from '../study/experiment/file/blocks/experiment-block.js';
import { absoluteModel } from '../study/experiment/file/blocks/models.js';
import { isExpertName } from '../study/experiment/file/blocks/names.js';
import { swapCommand } from '../study/pages/analysis/proposed-swaps.js';

/** Models of `suggest` and how they are measured. */
export interface SuggestParameters {
  /** Model that both experts were fine-tuned from. */
  base: string;
  /** Task expert: a path, `org/name`, or `NAME=PATH`. */
  task: string;
  /** Language expert, in the same form. */
  language: string;
  /** Number of merges that you can score, for `experiment`; default 9, like the paper's 3 × 3 numbers. */
  budget?: number | undefined;
  /** Stack of layers, if there are several, as for `analyze`. */
  stack?: string | undefined;
  /** Directory with `config.json` and tokenizer, or that file, for models that have none. */
  config?: string | undefined;
  /** Exclude rows with NaN or infinity instead of throwing NON_FINITE. Default: false. */
  allowNonFinite?: boolean | undefined;
}

/** An expert as measured by `suggest`. */
export interface SuggestedExpert {
  readonly name: string;
  readonly meanMav: number;
}

/** Layers for a swap, with reasons, and an experiment to test them. */
export interface Suggestion extends SuggestedLayers, Readonly<Record<Side, SuggestedExpert>> {
  readonly layers: number;
  readonly command: string;
  /** Swaps as an experiment for `runExperiment`; with a budget of 3 or more, also a soup to compare with. */
  readonly experiment: ExperimentInput;
  readonly bytesRead: number;
  readonly seconds: number;
  readonly warnings: readonly string[];
}

/**
 * Suggests how many bottom and top layers to swap, and which swaps to score, from where two experts changed
 * their base (as measured by `analyze`). If the measurements say nothing, `undecided` has the reasons, and
 * the numbers are the paper's default. The heuristic is ours; the paper chooses layers by scores.
 *
 * @example const { bottom, top, reasons } = await suggest({ base: './llama', task: './math-1', language: './swh-1' })
 * @throws LayerloomError INVALID_PARAMETER, NON_FINITE, INTERRUPTED, the codes of a checkpoint and of an
 * incompatibility
 */
export const suggest = async (
  { base, task, language, budget = 9, stack, config, allowNonFinite }: SuggestParameters,
  options: ReduceOptions = {},
): Promise<Suggestion> => {
  for (const [name, model] of Object.entries({ base, task, language }))
    if (typeof model !== 'string' || model === '') throw invalidParameter(name, model ?? null, 'a model');
  if (!Number.isSafeInteger(budget) || budget < 1)
    throw invalidParameter('budget', budget, 'a whole number of merges, 1 or more');
  const fetched = await bringModels([base, task, language], options);
  const { experts, doubts, warnings, bytesRead, seconds } = await computeTaskVectors(
    base,
    [task, language],
    'input',
    { ...options, ...{ stack, config, allowNonFinite, inLayers: true, checkBase: true } },
  );
  const given = config === undefined ? {} : { config: await absoluteModel(process.cwd(), config) };
  const [ofTask, ofLanguage] = [itemAt(experts, 0), itemAt(experts, 1)];
  if (ofTask.layers < 2) throw invalidParameter('task', task, 'a model of at least 2 layers');
  const soups = budget < 3 ? [] : [{ name: 'soup', method: 'soup' as const }];
  const suggested = suggestLayers(profiled(ofTask), profiled(ofLanguage), {
    budget: budget - soups.length,
    doubts: doubts.length === 0 ? [] : ['the base is in doubt, as the warning says'],
  });
  // Experiments ignore the case of names.
  const taken = [ofTask.base.name, ofTask.name, ofLanguage.name].map((name) => fileName(name).toLowerCase());
  const nameOf = ({ name }: MavVectors, role: Side) => {
    const own = fileName(name);
    const isOnly = taken.filter((other) => other === own.toLowerCase()).length === 1;
    return isExpertName(own) && isOnly ? own : `${role}-expert`;
  };
  const [taskName, languageName] = [nameOf(ofTask, 'task'), nameOf(ofLanguage, 'language')];
  return {
    ...suggested,
    task: { name: ofTask.name, meanMav: meanMavOf(Object.values(ofTask.tensors)) },
    language: { name: ofLanguage.name, meanMav: meanMavOf(Object.values(ofLanguage.tensors)) },
    layers: ofTask.layers,
    command: swapCommand(ofTask, ofLanguage, { ...suggested, ...given, stack, allowNonFinite }),
    experiment: {
      base: ofTask.base.path,
      ...(allowNonFinite === true ? { allowNonFinite } : {}),
      tasks: { [taskName]: ofTask.expert.path },
      languages: { [languageName]: { [languageName]: ofLanguage.expert.path } },
      merges: [
        {
          name: 'swap',
          method: 'layer_swap',
          ...(stack === undefined ? {} : { stack }),
          ...given,
          layers: suggested.swaps.map(({ bottom, top }) => [bottom, top] as [number, number]),
        },
        ...soups.map((soup) => ({ ...soup, ...given })),
      ],
    },
    bytesRead,
    seconds,
    warnings: [...fetched, ...warnings],
  };
};

const profiled = (mav: MavVectors) => ({
  name: mav.name,
  shares: sharesOf(mav, 0, 0),
  profile: layerProfile(mav),
});
