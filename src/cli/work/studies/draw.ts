import { draw } from '../../../api/draw.js';
import { visibleLine } from '../../../core/base/errors/visible.js';
import type { DrawOptions } from '../../../study/pages/report/draw-study.js';
import type { OutputOptions } from '../../options/output.js';
import { warn } from '../../print.js';
import { show } from '../running/show.js';

interface DrawCommandOptions extends OutputOptions, DrawOptions {
  readonly directory: string;
}

export const drawCommand = async ({
  directory,
  out,
  force,
  ...output
}: DrawCommandOptions): Promise<void> => {
  const result = await draw(directory, { out, force });
  if (!output.quiet) result.warnings.forEach(warn);
  show(result, output, ({ out: folder, pictures }) =>
    [
      `${folder}: ${pictures.length} pictures, each with its numbers`,
      ...pictures.map(({ title, svg, csv }) => visibleLine(`  ${svg}, ${csv}: ${title}`)),
    ].join('\n'),
  );
};
