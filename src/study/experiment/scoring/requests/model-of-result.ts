import { realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { groupBy } from '../../../../core/base/errors/lookup.js';
import type { HarnessResult } from '../../../evaluation/harness/harness-output.js';
import { weightsArguments } from '../../../evaluation/harness/loaded-model.js';
import { printWeights, type ToldWeights, toldWeights } from '../../../evaluation/harness/told-weights.js';
import type { EvaluationSettings } from '../../../evaluation/settings.js';
import { loadPathOf, type ModelToScore } from './models-to-score.js';

export interface Candidate extends ModelToScore {
  /** Weights that arguments of the harness would name here; undefined if the model is not on this machine. */
  readonly told: ToldWeights | undefined;
  /** `told.paths` without links. */
  readonly resolved: readonly string[];
}

export const candidateOf = async (
  model: ModelToScore,
  { modelArgs }: EvaluationSettings,
  directory: string,
): Promise<Candidate> => {
  const own = await loadPathOf(model, directory)
    .then((path) => weightsArguments(path, 'hf'))
    .catch(() => undefined);
  const told = own && toldWeights({ ...own, ...modelArgs });
  return { ...model, told, resolved: await resolved(told?.paths ?? [model.model]) };
};

const resolved = (paths: readonly string[]): Promise<string[]> =>
  Promise.all(paths.map((path) => (path === '' ? '' : realpath(path).catch(() => path))));

type Told = Pick<HarnessResult, 'file' | 'model'>;

/** Result with its model. `common`: path components that agree, from the end; infinite for equal paths. */
export interface Match<Result extends Told> {
  readonly result: Result;
  readonly model: Candidate;
  readonly common: number;
}

/**
 * Returns the model with the longest common path suffix.
 *
 * @throws RESULTS_FOREIGN unless exactly one model matches
 */
export const modelFor = async <Result extends Told>(
  result: Result,
  models: readonly Candidate[],
): Promise<Match<Result>> => {
  const there = await resolved(result.model.paths);
  const matches = models.map((model) => ({ result, model, common: commonOf(result.model, there, model) }));
  const [best, second] = matches.filter(({ common }) => common > 0).sort((a, b) => b.common - a.common);
  if (best !== undefined && (best.common === Number.POSITIVE_INFINITY || best.common !== second?.common))
    return best;
  const told = printWeights(result.model);
  throw foreign(
    result.file,
    best === undefined
      ? `the experiment has no model ${told}`
      : `its model ${told} may be ${best.model.name} or ${second?.model.name}`,
  );
};

const commonOf = (given: ToldWeights, there: readonly string[], candidate: Candidate): number => {
  const { told, kind, name, model, resolved: here } = candidate;
  const paths = told?.paths ?? [model];
  if (paths.length !== given.paths.length || String(told?.others ?? []) !== String(given.others)) return 0;
  const parts = paths.map((path, index): number => {
    const other = given.paths[index] ?? '';
    if (other === '') return 0;
    if (here[index] === there[index]) return Number.POSITIVE_INFINITY;
    const [own, foreign] = [path, other].map((each) => each.split(sep).filter(Boolean).reverse());
    const length = own?.findIndex((part, at) => part !== foreign?.[at]) ?? 0;
    // A merge must match with its whole name, other models with the name of their folder.
    const least = kind === 'merge' && path === model ? name.split(sep).length : 1;
    const common = length === -1 ? (own?.length ?? 0) : length;
    return common < least ? 0 : common;
  });
  if (parts.includes(0)) return 0;
  const known = parts.filter(Number.isFinite);
  return known.length === 0 ? Number.POSITIVE_INFINITY : known.reduce((sum, part) => sum + part, 0);
};

/** Refuses a result if another result matches the model's path better. */
export const separate = <Result extends Told>(
  matches: readonly Match<Result>[],
): {
  readonly own: readonly Match<Result>[];
  readonly refused: readonly { file: string; error: LayerloomError }[];
} => {
  const refused = new Map<Match<Result>, { file: string; error: LayerloomError }>();
  for (const [model, ofModel] of groupBy(matches, ({ model: { name } }) => name)) {
    const most = Math.max(...ofModel.map(({ common }) => common));
    const closest = [...groupBy(ofModel, told).values()].filter(([first]) => first?.common === most);
    const isClear = most === Number.POSITIVE_INFINITY || closest.length === 1;
    for (const match of ofModel)
      if (match.common < most || !isClear) {
        const other = ofModel.find((each) => each.common === most && told(each) !== told(match));
        const reason = `its model ${told(match)} may be ${model}, but so may ${other && told(other)}`;
        const { file } = match.result;
        refused.set(match, { file, error: foreign(file, reason) });
      }
  }
  return { own: matches.filter((match) => !refused.has(match)), refused: [...refused.values()] };
};

const told = ({ result }: Match<Told>): string => printWeights(result.model);

const foreign = (file: string, reason: string): LayerloomError =>
  new LayerloomError('RESULTS_FOREIGN', { file, reason });
