import { basename } from 'node:path';
import { type AnalyzeOptions, type AnalyzeParameters, analyze } from '../../../api/analyze.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { paperCounts } from '../../../core/methods/framework/counts.js';
import type { OutputOptions } from '../../options/output.js';
import { toNamed, toNumber } from '../../options/parse.js';
import { warn } from '../../print.js';
import { describeAnalysis } from '../../text/models/analysis-summary.js';
import { show, watched } from '../running/show.js';

/** `--threshold T` is for all experts, `NAME=T` for one; of repeated values the last wins. */
const thresholdsIn = (texts: readonly string[] = []): Pick<AnalyzeParameters, 'threshold' | 'thresholds'> => {
  const isOwn = (text: string) => text.includes('=');
  let own: Record<string, number> = {};
  for (const text of texts.filter(isOwn)) own = toNamed(text, own);
  const all = texts.filter((text) => !isOwn(text)).at(-1);
  return { threshold: all === undefined || all === 'auto' ? all : toNumber(all), thresholds: own };
};

/** `--task` and `--lang` take one value each time. A user may have meant an expert as a second value. */
const checkNames = ({ experts = [], from = [], task = [], language = [] }: AnalyzeParameters): void => {
  if (task.length + language.length === 0) return;
  const nameOf = (text: string) =>
    text.includes('=') ? text.replace(/=.*/s, '') : basename(text, '.mav.safetensors');
  const stray = experts.find(
    (text, at) =>
      !/[=/]/.test(text) &&
      [...experts.filter((_, other) => other !== at), ...from].some((other) => nameOf(other) === text),
  );
  if (stray !== undefined)
    throw new LayerloomError('USAGE', {
      reason: `${stray} is an expert's name, and stands where an expert would; --task and --lang take one expert each time: --task A --task B`,
    });
};

export const analyzeCommand = async ({
  out,
  threads,
  download,
  thresholds,
  json,
  quiet,
  verbose: _verbose,
  ...given
}: Omit<AnalyzeParameters, 'threshold' | 'thresholds'> & { readonly thresholds?: readonly string[] } & Pick<
    AnalyzeOptions,
    'out' | 'threads' | 'download'
  > &
  OutputOptions): Promise<void> => {
  const parameters = { ...given, ...thresholdsIn(thresholds) };
  checkNames(parameters);
  const result = await watched({ quiet }, (watch) =>
    analyze(parameters, { out, threads, download, ...watch }),
  );
  if (!quiet) result.warnings.forEach(warn);
  show(result, { json, quiet }, () =>
    describeAnalysis(result, given.bottom ?? paperCounts.bottom, given.top ?? paperCounts.top),
  );
};
