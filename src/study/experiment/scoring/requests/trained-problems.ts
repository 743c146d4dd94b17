import { dirname, join, resolve } from 'node:path';
import * as z from 'zod';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { visibleLine } from '../../../../core/base/errors/visible.js';
import { counted } from '../../../../core/base/format.js';
import { parseAddress, partsOf } from '../../../../core/models/address/address.js';
import { splitName } from '../../../../core/models/address/name.js';
import { readFileIfAny } from '../../../../core/models/checkpoint/files/small-file.js';
import { jsonOrNone } from '../../../../core/texts/json.js';
import { runFacts, type TrainedModel } from '../../../evaluation/data/trained-models.js';
import {
  hashesOfFiles,
  isAmong,
  type TextHashes,
  trainingName,
} from '../../../evaluation/data/trained-texts.js';
import type { ProblemTexts } from '../../../evaluation/result.js';
import type { ExperimentRecord } from '../../record/experiment-record.js';

/** Maximum number of folders above a checkpoint in which its training is searched. */
const mostAbove = 4;

const schema = z.looseObject({
  trainedOn: z.object({ hashes: z.array(z.string()), isSample: z.boolean() }).exactOptional(),
  runs: z
    .array(
      runFacts.extend({
        name: z.string(),
        path: z.string(),
        models: z.array(z.object({ step: z.number(), path: z.string() })),
      }),
    )
    .optional()
    .catch(undefined),
});

type Manifest = z.output<typeof schema>;

interface TrainedPath {
  readonly model: string;
  readonly path: string;
  readonly folder: string;
  readonly within: readonly string[];
  readonly manifest: Manifest;
}

async function* trainedPaths({
  references,
}: Pick<ExperimentRecord, 'references'>): AsyncGenerator<TrainedPath> {
  for (const { name, model } of references)
    for (const path of await pathsOf(splitName(model).rest)) {
      const folders = foldersAbove(path);
      for (const [index, folder] of folders.entries()) {
        const text = await readFileIfAny(join(folder, trainingName)).catch(() => undefined);
        const manifest = text === undefined ? undefined : schema.safeParse(jsonOrNone(text.toString())).data;
        if (manifest === undefined) continue;
        yield { model: name, path, folder, within: folders.slice(0, index + 1), manifest };
        break;
      }
    }
}

/** Finds the runs that trained an experiment's models, from manifests of `train init`. */
export const trainedModelsOf = async (
  record: Pick<ExperimentRecord, 'references'>,
): Promise<readonly TrainedModel[]> => {
  const found: TrainedModel[] = [];
  for await (const { model, path, folder, within, manifest } of trainedPaths(record)) {
    const runs = (manifest.runs ?? []).filter((run) => within.includes(resolve(folder, run.path)));
    const [run] = runs.sort((a, b) => b.path.length - a.path.length);
    if (run === undefined) continue;
    const { name, path: own, models, ...facts } = run;
    const step = models.find((one) => resolve(folder, own, one.path) === path)?.step ?? null;
    found.push({ ...facts, model, run: name, step });
  }
  return found;
};

interface Training {
  readonly directory: string;
  readonly texts: TextHashes;
  readonly set: ReadonlySet<string>;
}

/**
 * Finds the trainings of an experiment's models, with row hashes from `train init` and from prepared data.
 */
const trainingsOf = async (record: Pick<ExperimentRecord, 'references'>): Promise<Training[]> => {
  const found = new Map<string, Set<string>>();
  const notes = new Map<string, TextHashes>();
  for await (const { folder, within, manifest } of trainedPaths(record)) {
    if (manifest.trainedOn !== undefined) notes.set(folder, manifest.trainedOn);
    const prepared = found.get(folder) ?? new Set();
    // The training's folder is the run's own or one level above.
    for (const run of within.slice(-2)) prepared.add(join(run, 'data', 'train.jsonl'));
    found.set(folder, prepared);
  }
  return await Promise.all(
    [...found].map(async ([directory, prepared]) => {
      const noted = notes.get(directory) ?? { hashes: [], isSample: false };
      const made = await Promise.all(
        [...prepared].map((file) => hashesOfFiles([file]).catch(() => undefined)),
      );
      const all = [noted, ...made.flatMap((each) => each ?? [])];
      const hashes = [...new Set(all.flatMap((each) => each.hashes))].sort();
      const texts = { hashes, isSample: all.some(({ isSample }) => isSample) };
      return { directory, texts, set: new Set(hashes) };
    }),
  );
};

const pathsOf = async (model: string): Promise<string[]> => {
  try {
    return partsOf(await parseAddress(model)).flatMap((part) =>
      part.kind === 'model' && part.isHere ? [resolve(part.at)] : [],
    );
  } catch (error) {
    if (error instanceof LayerloomError) return [];
    throw error;
  }
};

const foldersAbove = (path: string): string[] => {
  const folders: string[] = [];
  for (let at = path; folders.length < mostAbove && dirname(at) !== at; at = dirname(at)) folders.push(at);
  return folders;
};

export interface TrainedProblems {
  readonly task: string;
  readonly count: number;
  /** Scored problems that could be compared. */
  readonly known: number;
  readonly directory: string;
}

/** Finds tasks with problems that a model was trained on. */
export const findTrained = async (
  record: Pick<ExperimentRecord, 'references'>,
  tasks: ReadonlyMap<string, ProblemTexts>,
): Promise<TrainedProblems[]> => {
  const trainings = tasks.size === 0 ? [] : await trainingsOf(record);
  return [...tasks].flatMap(([task, texts]) => {
    const questions = Object.values(texts).map(({ question }) => question);
    return trainings.flatMap(({ directory, texts: trained, set }) => {
      const answers = questions.map((question) => isAmong(question, trained, set));
      const known = answers.filter((answer) => answer !== undefined).length;
      const count = answers.filter((answer) => answer === true).length;
      return count === 0 ? [] : [{ task, count, known, directory }];
    });
  });
};

export const describeTrained = ({ task, count, known, directory }: TrainedProblems): string =>
  `${count} of ${counted(known, 'problem')} of ${visibleLine(task)} that were scored are in the training data of this experiment's models (${visibleLine(directory)}), so their scores say little about other problems. Score others with \`problems: FIRST-LAST\` under evaluate`;
