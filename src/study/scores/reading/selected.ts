import { overlap, rangeOf, selectedIn } from '../../evaluation/selected-by.js';
import type { ExperimentRecord } from '../../experiment/record/experiment-record.js';

type Scored = Pick<ExperimentRecord, 'merges' | 'references' | 'evaluate'>;

/** Warns that scores on a task are too high if the same problems chose the experts. */
export const selectionCaveats = ({ merges, references, evaluate }: Scored): string[] =>
  selectedIn(evaluate).flatMap(([task, rows]) => {
    const isReported = [...references, ...merges].some(({ scores }) => {
      const score = scores?.[task];
      return score !== undefined && overlap(score.rows, rangeOf(rows));
    });
    return isReported
      ? [
          `The experts were chosen among checkpoints by their scores in ${task}${rows === 'all' ? '' : ` (problems ${rows})`}, and some of these are scored here again: scores of experts and merges in it are too high, and compared with the base they flatter both`,
        ]
      : [];
  });
