import { rebuild } from '../../../api/rebuild.js';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { visibleLine } from '../../../core/base/errors/visible.js';
import { counted, formatBytes } from '../../../core/base/format.js';
import type { OtherMerge } from '../../../study/bundle/make-again.js';
import type { RebuildOptions, RebuiltStudy } from '../../../study/bundle/rebuild-study.js';
import type { OutputOptions } from '../../options/output.js';
import { printNext } from '../../print.js';
import { show, watched } from '../running/show.js';

interface RebuildCommandOptions
  extends OutputOptions,
    Pick<RebuildOptions, 'out' | 'experts' | 'resume' | 'threads'> {
  readonly file: string;
}

/** @throws LayerloomError after the result: MERGES_DIFFER, else BATCH_INCOMPLETE if some merges were not made */
export const rebuildCommand = async (options: RebuildCommandOptions): Promise<void> => {
  const { file, out, experts, resume, threads } = options;
  const result = await watched(options, (watch) =>
    rebuild(file, { out, experts, resume, threads, ...watch }),
  );
  const { different = [], failed = [], same = 0 } = result.again ?? {};
  const merges = different.length + failed.length + same;
  if (different.length + failed.length === 0 || !options.json) show(result, options, describe);
  if (different.length > 0)
    throw new LayerloomError('MERGES_DIFFER', { ...result, merges: different.map(({ merge }) => merge) });
  if (failed.length > 0)
    throw new LayerloomError('BATCH_INCOMPLETE', {
      ...{ out: result.out, again: result.again, merges },
      failed: failed.map(({ merge, reason }) => ({ merge, message: reason })),
    });
  if (!options.json && !options.quiet) printNext(layerloomCommand('table', argument(result.out)));
};

const describe = ({ out, files, bytes, merges, again }: RebuiltStudy): string =>
  [
    `${out}: ${counted(files, 'file')}, ${formatBytes(bytes)}, ${counted(merges, 'merge')}`,
    ...(again === null
      ? []
      : [
          `${again.same} merges have the recorded SHA-256 in every file${again.kept === 0 ? '' : `, ${again.kept} of them from an earlier rebuild`}`,
          ...again.different.map((one) => line('differs', one)),
          ...again.failed.map((one) => line('not made', one)),
        ]),
  ].join('\n');

const line = (verdict: string, { merge, reason }: OtherMerge): string =>
  visibleLine(`${verdict}: ${merge}: ${reason}`);
