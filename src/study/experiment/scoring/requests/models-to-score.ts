import { join } from 'node:path';
import { allInOrder } from '../../../../core/base/all-in-order.js';
import { parseAddress, partsOf } from '../../../../core/models/address/address.js';
import { splitName } from '../../../../core/models/address/name.js';
import { locate } from '../../../../core/models/sources/locate.js';
import { pathToLoad } from '../../../evaluation/harness/loadable.js';
import type { ScoredContents } from '../../../evaluation/scored-contents.js';
import type { EvaluationSettings } from '../../../evaluation/settings.js';
import { weightsOfMerge, weightsOfModel } from '../../../store/files/weights.js';
import { measuredLanguages } from '../../file/measured-languages.js';
import type { ExperimentReference } from '../../file/references.js';
import { allLanguages } from '../../file/subjects.js';
import type { MergesInPlace, MergeToLoad } from '../../in-place/merges-in-place.js';
import type { ExperimentRecord, MergeRecord } from '../../record/experiment-record.js';
import { samplesOf } from './wanted-results.js';

interface ScorableModels {
  readonly merges: readonly Pick<MergeRecord, 'name' | 'language' | 'path'>[];
  readonly references: readonly ExperimentReference[];
}

export interface ModelToScore {
  readonly name: string;
  readonly kind: 'merge' | 'reference';
  /** Merge's directory, or a model as written in recipes. */
  readonly model: string;
  readonly tasks: readonly string[];
  /** Makes the merge if it is not written. */
  readonly inPlace?: MergesInPlace | undefined;
}

const tasksIn = (languages: Iterable<string>, { tasks }: EvaluationSettings): string[] => [
  ...new Set([...languages].flatMap((language) => tasks.get(language) ?? [])),
];

/** Returns the languages with experts; for `references: false`, those with merges. */
export const ownLanguages = ({ merges, references }: ScorableModels): string[] => [
  ...new Set([
    ...references.flatMap(({ expertIn }) => expertIn ?? []),
    ...merges.map(({ language }) => language).filter((language) => language !== allLanguages),
  ]),
];

export const modelsToScore = (
  record: ScorableModels,
  settings: EvaluationSettings,
  directory: string,
): ModelToScore[] => {
  const measured = measuredLanguages({
    ownLanguages: ownLanguages(record),
    evaluatedLanguages: [...settings.tasks.keys()],
    everyLanguage: settings.everyLanguage,
  });
  return [
    ...record.references.map(
      ({ name, model, languages }: ExperimentReference): ModelToScore => ({
        name,
        kind: 'reference',
        model,
        tasks: tasksIn(languages, settings),
      }),
    ),
    ...record.merges.map(
      (merge): ModelToScore => ({
        name: merge.name,
        kind: 'merge',
        model: join(directory, merge.path),
        tasks: tasksIn(measured({ role: 'merge', languages: [merge.language] }), settings),
      }),
    ),
  ].filter(({ tasks }) => tasks.length > 0);
};

/**
 * Returns the identity of a model's weights; undefined for a missing merge.
 *
 * @param contents recorded contents of references
 * @param keep record the hashes of a moved reference
 * @throws as `openCheckpoint`; for a merge in place, INPUT_CHANGED or the reason of its refusal
 */
export const weightsOf = async (
  { kind, model, name, inPlace }: ModelToScore,
  contents: ScoredContents,
  keep = true,
): Promise<string | undefined> => {
  if (kind === 'reference') return await weightsOfReference(model, contents, keep);
  const weights = (await weightsOfMerge(model)) ?? inPlace?.weightsOf(name);
  if (weights !== undefined) await inPlace?.verify(name);
  return weights;
};

/** Returns the identity of a reference's weights, which moving its files does not change. */
export const weightsOfReference = (model: string, contents: ScoredContents, keep: boolean): Promise<string> =>
  weightsOfModel(splitName(model).rest, (files) => contents.identitiesOf(files, keep));

/**
 * Returns the path that programs load for a model.
 *
 * @throws as `pathToLoad` and `MergesInPlace.prepare`
 */
export const placeOf = async (model: ModelToScore, directory: string): Promise<MergeToLoad> => {
  const { inPlace, name } = model;
  if (inPlace !== undefined && (await weightsOfMerge(model.model)) === undefined)
    return await inPlace.prepare(name);
  const path = await loadPathOf(model, directory);
  return { path, weights: undefined, [Symbol.asyncDispose]: () => Promise.resolve() };
};

/** @throws as `pathToLoad` */
export const loadPathOf = async ({ kind, model }: ModelToScore, directory: string): Promise<string> =>
  kind === 'merge' ? model : await pathToLoad(model, join(directory, '.views'));

/**
 * Returns the absolute path of a checkpoint; `BASE+ADAPTER` for an adapter.
 *
 * @throws MODEL_NOT_FOUND
 */
export const pathOf = async ({ kind, model }: Pick<ModelToScore, 'kind' | 'model'>): Promise<string> => {
  if (kind === 'merge') return model;
  const parts = partsOf(await parseAddress(model));
  return (await allInOrder(parts.map(locate))).map(({ path }) => path).join('+');
};

/** Lists tasks that lack a score in the requested rows, once per missing answer. */
export const lackingIn = (
  { references, merges }: Pick<ExperimentRecord, 'merges' | 'references'>,
  models: readonly ModelToScore[],
  settings: EvaluationSettings,
): Pick<ModelToScore, 'name' | 'tasks'>[] => {
  const scores = new Map([...references, ...merges].map((each) => [each.name, each.scores]));
  return models.map(({ name, tasks }) => ({
    name,
    tasks: tasks.flatMap((task) => {
      const score = scores.get(name)?.[task];
      const isScored = score !== undefined && String(score.rows) === String(settings.rowsOf(task));
      return isScored ? [] : samplesOf(task, settings).map((sample) => sample.task);
    }),
  }));
};
