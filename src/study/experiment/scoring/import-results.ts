import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { version } from '../../../core/base/files/version.js';
import { reading } from '../../../core/base/files/writing.js';
import { counted } from '../../../core/base/format.js';
import { splitName } from '../../../core/models/address/name.js';
import { provenanceName } from '../../../core/models/checkpoint/files/file-names.js';
import { openModel } from '../../../core/models/reading/read-model.js';
import { hasRecord } from '../../batch/planning/record-names.js';
import {
  findHarnessResults,
  type HarnessResult,
  readHarnessResults,
} from '../../evaluation/harness/harness-output.js';
import { evaluationsName, type FoundResult, ResultFiles } from '../../evaluation/result-files.js';
import { ScoredContents } from '../../evaluation/scored-contents.js';
import type { EvaluationSettings } from '../../evaluation/settings.js';
import { type ExperimentRecord, readRecord } from '../record/experiment-record.js';
import { RecordFile } from '../record/record-file.js';
import { settingsOf } from './evaluation-options.js';
import { ScoreFailures } from './progress/score-failures.js';
import { checkEvaluationFolders } from './requests/evaluation-folders.js';
import { type Candidate, candidateOf, type Match, modelFor, separate } from './requests/model-of-result.js';
import { modelsToScore, pathOf, weightsOf, weightsOfReference } from './requests/models-to-score.js';
import { samplesOf } from './requests/wanted-results.js';

/** Results that `importResults` accepted, and files that it refused. */
export interface ImportOutcome {
  readonly directory: string;
  readonly imported: readonly { readonly model: string; readonly task: string; readonly file: string }[];
  readonly failed: readonly { readonly file: string; readonly code: string; readonly message: string }[];
  /** Warnings about results that do not count, because shots, seed, sampling or token limit differ. */
  readonly warnings: readonly string[];
  readonly experiment: ExperimentRecord;
}

/**
 * Imports results of lm-evaluation-harness from elsewhere, such as a GPU cluster. A harness result goes to the model
 * whose checkpoint and adapter paths end like the paths given to the harness. From another experiment or a directory of
 * `evaluateModels`, results of equal weights are imported.
 *
 * @param directory of the experiment
 * @param from a directory with `results_*.json` and samples at any depth, or of scores by layerloom
 * @throws EXPERIMENT_MISSING, EXPERIMENT_INVALID, READ_FAILED; RESULTS_FOREIGN if layerloom's scores match no
 * model of the experiment. Malformed results, and those of other weights or unknown models, do not throw;
 * they are in `failed`.
 */
export const importResults = async (directory: string, from: string): Promise<ImportOutcome> => {
  const place = resolve(directory);
  const record = await readRecord(place);
  checkEvaluationFolders(place);
  const settings = settingsOf(record, place);
  const models = await Promise.all(
    modelsToScore(record, settings, place).map((model) => candidateOf(model, settings, place)),
  );
  const target = {
    results: new ResultFiles(place),
    failures: new ScoreFailures(place),
    contents: ScoredContents.of(place),
  };
  if (await hasRecord(from)) {
    const taken = await takeOver(resolve(from), models, target);
    const experiment = await new RecordFile(place).update(() => readRecord(place));
    const warnings = taken.flatMap(({ of }) => warningOf(of, settings));
    return { directory: place, imported: taken.map(({ as }) => as), failed: [], warnings, experiment };
  }
  const files = await reading(resolve(from), () => findHarnessResults(from));
  if (files.length === 0)
    throw new LayerloomError('READ_FAILED', {
      file: resolve(from),
      reason: 'it contains no results_*.json of lm_eval',
    });
  const imported = new Map<string, { model: string; task: string; file: string }>();
  const failed: { file: string; code: string; message: string }[] = [];
  const noteFailure = (file: string, error: unknown): void => {
    if (!(error instanceof LayerloomError) || error.code === 'WRITE_FAILED') throw error;
    failed.push({ file, code: error.code, message: error.message });
  };
  const found: Match<HarnessResult>[] = [];
  for (const file of files)
    try {
      found.push(...(await wantedIn(file, models)));
    } catch (error) {
      noteFailure(file, error);
    }
  const { own, refused } = separate(found);
  for (const { file, error } of refused) noteFailure(file, error);
  // Imports the newest last, so that it replaces older results of the same identity.
  const wanted = own.toSorted((a, b) => Date.parse(a.result.started) - Date.parse(b.result.started));
  for (const { result, model } of wanted)
    try {
      const written = await take(result, model, target);
      imported.set(written.file, { model: model.name, task: result.task, file: written.file });
    } catch (error) {
      noteFailure(result.file, error);
    }
  const experiment = await new RecordFile(place).update(() => readRecord(place));
  const warnings = wanted.flatMap(({ result }) => warningOf(result, settings));
  return { directory: place, imported: [...imported.values()], failed, warnings, experiment };
};

interface Target {
  readonly results: ResultFiles;
  readonly failures: ScoreFailures;
  readonly contents: ScoredContents;
}

/**
 * Copies layerloom's results for the models' weights and tasks.
 *
 * @throws RESULTS_FOREIGN if none match
 */
const takeOver = async (
  from: string,
  models: readonly Candidate[],
  { results, failures, contents }: Target,
): Promise<{ of: FoundResult['result'] & { file: string }; as: ImportOutcome['imported'][number] }[]> => {
  const there = new ResultFiles(from);
  const taken: Awaited<ReturnType<typeof takeOver>> = [];
  for (const model of models) {
    const path = await pathOf(model).catch(() => undefined);
    const weights = path === undefined ? undefined : await weightsOf(model, contents);
    if (path === undefined || weights === undefined) continue;
    const told = await weightsOfReference(path, ScoredContents.of(from), false);
    for (const found of await there.of(told)) {
      const { texts: _texts, ...result } = found.result;
      if (!model.tasks.includes(result.task)) continue;
      const problems = await there.problemsOf(found);
      const { file } = await results.write(
        { ...result, problems, model: model.name, weights },
        await there.textsOf(found.result),
        { keepNewer: true },
      );
      await failures.remove({ weights, task: result.task });
      taken.push({
        of: { ...found.result, file: join(from, evaluationsName, found.file) },
        as: { model: model.name, task: result.task, file },
      });
    }
  }
  if (taken.length > 0) return taken;
  throw new LayerloomError('RESULTS_FOREIGN', {
    file: from,
    reason: 'no result in it has the weights and a task of the experiment',
  });
};

type Asked = Pick<HarnessResult, 'fewshot' | 'seed' | 'maxTokens' | 'sampling'>;

const warningOf = (
  { file, task, ...result }: Asked & Pick<HarnessResult, 'file' | 'task'>,
  settings: EvaluationSettings,
): string[] => {
  const textOf = ({ fewshot, seed, maxTokens, sampling }: Asked): string =>
    `${counted(fewshot, 'shot')}, seed ${seed}, ${sampling === null ? 'greedy answers' : `answers sampled with ${sampling}`} and ${maxTokens === null ? "the task's own token limit" : `at most ${maxTokens} tokens`}`;
  const asked = samplesOf(task, settings).map(({ sample }) =>
    textOf({
      fewshot: settings.fewshotOf(task) ?? result.fewshot,
      seed: settings.seedOf(sample),
      maxTokens: settings.maxTokensOf(task),
      sampling: settings.samplingTextOf(task),
    }),
  );
  const there = textOf(result);
  if (asked.includes(there)) return [];
  return [
    `${file}: ${task} has ${there}; the experiment asks for ${asked[0]}${asked.length > 1 ? `, and ${asked.length - 1} more seeds` : ''}, so it does not count`,
  ];
};

/**
 * Reads the requested results in a file. Skips subtasks of groups.
 *
 * @throws RESULTS_INVALID; RESULTS_FOREIGN if no result is requested
 */
const wantedIn = async (file: string, models: readonly Candidate[]): Promise<Match<HarnessResult>[]> => {
  const results = await readHarnessResults(file);
  const found = await Promise.all(results.map((result) => modelFor(result, models)));
  const wanted = found.filter(({ result, model }) => model.tasks.includes(result.task));
  const [first] = found;
  if (wanted.length === 0)
    throw new LayerloomError('RESULTS_FOREIGN', {
      file,
      reason:
        first === undefined
          ? 'it has no metrics of any task'
          : `evaluate: asks ${first.model.name} for ${first.model.tasks.join(', ')}, but it has ${results.map(({ task }) => task).join(', ')}`,
    });
  return wanted;
};

/** @throws RESULTS_FOREIGN if the weights are newer than the result */
const take = async (
  { file, model: _told, texts, ...result }: HarnessResult,
  model: Candidate,
  { results, failures, contents }: Target,
): Promise<FoundResult> => {
  const weights = await weightsOf(model, contents);
  if (weights === undefined)
    throw new LayerloomError('RESULTS_FOREIGN', {
      file,
      reason: `${model.name} does not exist, so the result's weights are unknown`,
    });
  const made = await timeOf(model);
  if (Date.parse(result.started) < made)
    throw new LayerloomError('RESULTS_FOREIGN', {
      file,
      reason: `it has other weights: it was made on ${result.started}, but ${model.name} was written on ${new Date(made).toISOString()}`,
    });
  const written = await results.write(
    { ...result, ...{ layerloom: version, model: model.name, weights, source: 'imported' as const } },
    texts,
    { keepNewer: true },
  );
  await failures.remove({ weights, task: result.task });
  return written;
};

const timeOf = async ({ kind, model }: Candidate): Promise<number> => {
  if (kind === 'merge') return (await stat(join(model, provenanceName))).mtimeMs;
  const { files } = await openModel(splitName(model).rest);
  return Math.max(...files.map(({ mtimeNs }) => Number(BigInt(mtimeNs) / 1_000_000n)));
};
