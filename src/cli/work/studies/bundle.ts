import { bundle } from '../../../api/bundle.js';
import { visibleLine } from '../../../core/base/errors/visible.js';
import { counted, formatBytes } from '../../../core/base/format.js';
import type { EntryKind } from '../../../study/bundle/names.js';
import type { Bundle, BundleOptions } from '../../../study/bundle/write-bundle.js';
import type { OutputOptions } from '../../options/output.js';
import { warn } from '../../print.js';
import { show } from '../running/show.js';

interface BundleCommandOptions extends OutputOptions, BundleOptions {
  readonly directory: string;
}

export const bundleCommand = async ({
  directory,
  out,
  dryRun,
  force,
  ...output
}: BundleCommandOptions): Promise<void> => {
  const result = await bundle(directory, { out, dryRun, force });
  if (!output.quiet) result.warnings.forEach(warn);
  show(result, output, describe);
};

const words: Readonly<Record<EntryKind, string>> = {
  about: 'record, experiment and texts',
  results: 'results and answers',
  contents: 'SHA-256 of scored models',
  analysis: 'analyses',
  merges: 'recipes, statements and cards of merges',
};

const describe = ({ out, bytes, sha256, merges, kinds, leftOut }: Bundle): string =>
  [
    `${out}: ${formatBytes(bytes)}, ${counted(merges, 'merge')}${sha256 === null ? '; nothing was written' : `, SHA-256 ${sha256}`}`,
    ...kinds
      .filter(({ files }) => files > 0)
      .map(
        ({ kind, files, bytes: own }) => `  ${words[kind]}: ${counted(files, 'file')}, ${formatBytes(own)}`,
      ),
    ...(leftOut.length === 0 ? [] : [`left out: ${visibleLine(leftOut.join(', '))}`]),
  ].join('\n');
