import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { itemAt } from '../../../../core/base/errors/lookup.js';
import { readLines } from './json-rows.js';

export interface FloresRow {
  readonly source: string;
  readonly target: string;
}

/**
 * Reads parallel files with one sentence a line.
 *
 * @throws DATA_INVALID for different numbers of lines, or an empty line
 */
export const readFlores = async (source: string, target: string): Promise<readonly FloresRow[]> => {
  const [sources, targets] = await Promise.all([readLines(source), readLines(target)]);
  if (sources.length !== targets.length)
    throw new LayerloomError('DATA_INVALID', {
      file: target,
      reason: `${targets.length} lines, though ${source} has ${sources.length}`,
    });
  return sources.map((text, index) => {
    const row = { source: text, target: itemAt(targets, index) };
    if (row.source.trim() === '' || row.target.trim() === '')
      throw new LayerloomError('DATA_INVALID', {
        file: row.source.trim() === '' ? source : target,
        line: index + 1,
        reason: 'the line is empty',
      });
    return row;
  });
};
