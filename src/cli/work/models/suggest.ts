import { dirname, resolve } from 'node:path';
import { type Suggestion, type SuggestParameters, suggest } from '../../../api/suggest.js';
import type { ReduceOptions } from '../../../core/engine/compute/measures/reduce.js';
import { makeDirectories } from '../../../core/engine/output/durable.js';
import { checkExperimentText } from '../../../study/experiment/file/read-experiment.js';
import type { OutputOptions } from '../../options/output.js';
import { printNext, warn } from '../../print.js';
import type { PrintedSuggestion } from '../../printed.js';
import { schemaComment } from '../../schema.js';
import { describeSuggestion } from '../../text/models/suggestion-text.js';
import { show, watched } from '../running/show.js';
import { nextOf, pathFrom, refuseExisting, writeNew } from '../studies/experiment.js';

export const suggestCommand = async ({
  out,
  threads,
  download,
  json,
  quiet,
  verbose: _verbose,
  ...parameters
}: SuggestParameters &
  Pick<ReduceOptions, 'threads' | 'download'> &
  OutputOptions & { readonly out?: string }): Promise<void> => {
  if (out !== undefined) await refuseExisting(out);
  const found = await watched({ quiet }, (watch) => suggest(parameters, { threads, download, ...watch }));
  if (!quiet) found.warnings.forEach(warn);
  if (out !== undefined) await writeExperiment(found, out);
  const next = out === undefined ? undefined : nextOf(out);
  const printed: PrintedSuggestion = {
    ...found,
    experiment: { ...found.experiment },
    ...(next === undefined ? {} : { next }),
  };
  show(printed, { json, quiet }, () => describeSuggestion(found));
  if (!json && !quiet) printNext(next);
};

/** Writes YAML with collections as JSON. Relative paths start in the file's folder. */
const writeExperiment = async ({ experiment }: Suggestion, out: string): Promise<void> => {
  const folder = dirname(resolve(out));
  const moved = async (models: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(models).map(async ([name, path]) => [name, await pathFrom(folder, path)] as const),
      ),
    );
  const { base = '', tasks, languages = {}, merges, allowNonFinite } = experiment;
  const named = await Promise.all(
    Object.entries(languages).map(async ([language, of]) => [language, await moved(of)] as const),
  );
  const text = [
    schemaComment('experiment', folder),
    ...Object.entries({
      base: await pathFrom(folder, base),
      tasks: await moved(tasks),
      languages: Object.fromEntries(named),
      ...(allowNonFinite === undefined ? {} : { allow_non_finite: allowNonFinite }),
    }).map(([key, value]) => `${key}: ${JSON.stringify(value)}`),
    'merges:',
    ...merges.map((entry) => `  - ${JSON.stringify(entry)}`),
    '',
  ].join('\n');
  await checkExperimentText(text, out);
  await makeDirectories(folder);
  await writeNew(out, text);
};
