import { basename, dirname, extname, isAbsolute, join, resolve } from 'node:path';
import { type StudyModels, selectedModels, trainedModels } from '../../../api/study-models.js';
import { checkTaskData } from '../../../api/task-data.js';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { codeOf, LayerloomError, reasonOf } from '../../../core/base/errors/errors.js';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { groupBy } from '../../../core/base/errors/lookup.js';
import { exists } from '../../../core/base/files/exists.js';
import { wayFrom } from '../../../core/base/way.js';
import { writeWhole } from '../../../core/engine/output/durable.js';
import { isDotted, mapPlaces, parseAddress, printAddress } from '../../../core/models/address/address.js';
import { splitName } from '../../../core/models/address/name.js';
import { checkExperimentText } from '../../../study/experiment/file/read-experiment.js';
import {
  type EvaluationChoices,
  experimentPreset,
  languagesWithoutTasks,
  type PresetModels,
  type PresetName,
} from '../../../study/paper/experiment.js';
import type { OutputOptions } from '../../options/output.js';
import { note, printJson, printLine, printNext, printText, warn } from '../../print.js';
import { schemaComment } from '../../schema.js';

interface ExperimentInitOptions
  extends OutputOptions,
    Omit<EvaluationChoices, 'fewshot' | 'device' | 'batchSize' | 'here' | 'averagesAll'> {
  readonly preset: PresetName;
  readonly base?: string;
  readonly tasks?: readonly string[];
  readonly languages?: readonly string[];
  readonly training?: readonly string[];
  readonly selection?: string;
  readonly out?: string;
}

export const experimentInitCommand = async ({
  preset,
  base,
  tasks,
  languages,
  training,
  selection,
  benchmarks,
  data,
  limit,
  problems,
  maxTokens,
  out,
  json,
  quiet,
}: ExperimentInitOptions): Promise<void> => {
  const folder = out === undefined ? process.cwd() : dirname(resolve(out));
  const sources = { training, selection, '--base, --task and --lang': base ?? tasks ?? languages };
  const [first, second] = Object.entries(sources).flatMap(([name, given]) =>
    given === undefined ? [] : [name.startsWith('--') ? name : `--${name}`],
  );
  if (second !== undefined)
    throw new LayerloomError('USAGE', {
      reason: `${first} and ${second} both name models; give one of them`,
    });
  const found =
    training !== undefined
      ? await trainedModels(training)
      : selection !== undefined
        ? await selectedModels(selection)
        : undefined;
  if (!quiet) found?.warnings.forEach(warn);
  const models: PresetModels =
    found === undefined
      ? {
          base: base === undefined ? undefined : await pathFrom(folder, base),
          tasks: tasks === undefined ? undefined : await expertsOf('--task', tasks, folder),
          languages: languages === undefined ? undefined : await languagesOf(languages, folder),
        }
      : await modelsFrom(folder, found);
  checkCount('limit', limit);
  checkCount('maxTokens', maxTokens);
  const choices = {
    benchmarks,
    data: data === undefined ? undefined : dataFrom(folder, data),
    here: data === undefined ? undefined : await tasksIn(data),
    limit,
    problems,
    maxTokens,
  };
  const experiment = experimentPreset(preset, models, choices);
  // A printed experiment names no schema, because its future folder is unknown.
  const text = out === undefined ? experiment : `${schemaComment('experiment', folder)}\n${experiment}`;
  await checkExperimentText(text, out ?? 'experiment.yaml');
  const unmeasured = languagesWithoutTasks(Object.keys(models.languages ?? {}), choices);
  if (unmeasured.length > 0 && !quiet)
    warn(
      `${unmeasured.join(', ')}: no task of these benchmarks is in ${unmeasured.length === 1 ? 'it' : 'them'}; \`${layerloomCommand('tasks', 'list')}\` lists all, and tasks of your own are named under evaluate`,
    );
  if (out !== undefined) await writeNew(out, text);
  const next = out === undefined ? undefined : nextOf(out);
  if (json) printJson({ preset, ...(out === undefined ? {} : { file: out, next }), text });
  else if (out === undefined) printText(text.trimEnd());
  else if (!quiet) {
    printLine(out);
    if ([models.base, models.tasks, models.languages].includes(undefined))
      note(`${out} has placeholders for models that were not named; put your own paths in first`);
    printNext(next);
  }
};

const tasksIn = async (data: string): Promise<string[]> => {
  if (!(await exists(data))) return [];
  const { tasks } = await checkTaskData(data);
  return tasks.flatMap(({ task, state }) => (state === 'there' ? [task] : []));
};

const checkCount = (parameter: string, count: number | undefined): void => {
  if (count !== undefined && !(Number.isSafeInteger(count) && count >= 1))
    throw invalidParameter(parameter, count, 'a whole number, 1 or more');
};

export const nextOf = (file: string): string =>
  layerloomCommand(
    'batch',
    argument(file),
    '-o',
    argument(join(dirname(file), basename(file, extname(file)))),
  );

const modelsFrom = async (
  folder: string,
  { base, tasks, languages, references, selectedBy }: StudyModels,
): Promise<PresetModels> => {
  const from = (experts: Readonly<Record<string, string>>) =>
    mapValues(experts, (path) => pathFrom(folder, path));
  return {
    base: await pathFrom(folder, base),
    tasks: await from(tasks),
    languages: await mapValues(languages, from),
    references: await mapValues(references, async (reference) => ({
      ...reference,
      model: await pathFrom(folder, reference.model),
    })),
    selectedBy,
  };
};

const mapValues = async <From, To>(
  values: Readonly<Record<string, From>>,
  map: (value: From) => Promise<To>,
): Promise<Record<string, To>> =>
  Object.fromEntries(
    await Promise.all(Object.entries(values).map(async ([name, value]) => [name, await map(value)] as const)),
  );

const dataFrom = (folder: string, directory: string): string => {
  if (isAbsolute(directory)) return directory;
  return wayFrom(folder, directory);
};

/** Returns a model's path relative to a folder; absolute paths and hub names unchanged. */
export const pathFrom = async (folder: string, model: string): Promise<string> => {
  const address = await parseAddress(model);
  return printAddress(
    mapPlaces(address, ({ at, isHere }) => {
      if (isAbsolute(at) || !(isHere || isDotted(at))) return at;
      return wayFrom(folder, at);
    }),
  );
};

const expertsOf = async (
  option: string,
  given: readonly string[],
  folder: string,
): Promise<Record<string, string>> => {
  const experts = new Map<string, string>();
  for (const one of given) {
    const { rest: path, name = basename(resolve(path)) } = splitName(one);
    if (experts.has(name))
      throw new LayerloomError('USAGE', {
        reason: `${option} names two experts ${name}; name them apart with NAME=DIR`,
      });
    experts.set(name, await pathFrom(folder, path));
  }
  return Object.fromEntries(experts);
};

const languagesOf = async (
  given: readonly string[],
  folder: string,
): Promise<Record<string, Record<string, string>>> => {
  const all = given.map((one) => {
    const { language, expert } = /^(?<language>[^:/=]+):(?<expert>.+)$/s.exec(one)?.groups ?? {};
    if (language === undefined || expert === undefined)
      throw new LayerloomError('USAGE', {
        reason: `--lang ${one}: expected LANGUAGE:NAME=DIR, such as swahili:swh-1=./swh-1`,
      });
    return { language, expert };
  });
  const found: [string, Record<string, string>][] = [];
  for (const [language, of] of groupBy(all, (one) => one.language)) {
    const experts = of.map(({ expert }) => expert);
    found.push([language, await expertsOf(`--lang ${language}:`, experts, folder)]);
  }
  return Object.fromEntries(found);
};

const alreadyThere = 'exists already; choose another file';

/** Called before long work. @throws OUTPUT_INVALID */
export const refuseExisting = async (file: string): Promise<void> => {
  if (await exists(file)) throw new LayerloomError('OUTPUT_INVALID', { out: file, reason: alreadyThere });
};

/** @throws OUTPUT_INVALID if the file exists */
export const writeNew = async (file: string, text: string): Promise<void> => {
  try {
    await writeWhole(file, text, true);
  } catch (error) {
    const { cause } = error as Error;
    const isThere = codeOf(cause) === 'EEXIST';
    throw new LayerloomError(
      'OUTPUT_INVALID',
      { out: file, reason: isThere ? alreadyThere : reasonOf(cause) },
      { cause },
    );
  }
};
