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
          `The experts were chosen among checkpoints by their scores in ${task}${rows === 'all' ? '' : ` (problems ${rows})`}, and some of these problems are scored here again, so scores of experts and merges in this task are too high, also compared with the base`,
        ]
      : [];
  });
