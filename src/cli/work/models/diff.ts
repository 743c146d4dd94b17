import { type DiffOptions, diff } from '../../../api/diff.js';
import type { Comparison } from '../../../core/measure/comparison/comparison.js';
import { describeComparison } from '../../../study/pages/comparison/comparison-text.js';
import type { OutputOptions } from '../../options/output.js';
import { warn } from '../../print.js';
import { describeQuantised, warningsOfQuantised } from '../../text/models/quantised-text.js';
import { show, watched } from '../running/show.js';

interface DiffCommandOptions extends OutputOptions, Omit<DiffOptions, 'onProgress' | 'signal'> {
  readonly a: string;
  readonly b: string;
  readonly all?: boolean;
  readonly exitCode?: boolean;
}

/** With `exitCode`, the process ends with 1 if anything differs. */
export const diffCommand = async (options: DiffCommandOptions): Promise<void> => {
  const {
    a,
    b,
    only,
    out,
    force,
    all = false,
    threads,
    download,
    weightsOnly,
    exitCode = false,
    config,
    quantizeReport,
  } = options;
  const comparison = await watched(options, (watch) =>
    diff(a, b, { only, weightsOnly, out, force, config, quantizeReport, threads, download, ...watch }),
  );
  if (!options.quiet) comparison.warnings.forEach(warn);
  const { quantised } = comparison;
  if (!options.quiet && quantised !== undefined) warningsOfQuantised(quantised).forEach(warn);
  show(comparison, options, () =>
    [
      describeComparison(comparison, all),
      ...(quantised === undefined ? [] : ['', describeQuantised(quantised)]),
      ...(out === undefined ? [] : [out]),
    ].join('\n'),
  );
  if (exitCode && differs(comparison)) process.exitCode = 1;
};

const differs = ({ equal, sideFiles }: Comparison): boolean =>
  !equal || sideFiles.some(({ state }) => state !== 'equal');
