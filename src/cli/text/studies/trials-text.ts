import Table from 'cli-table3';
import wrapAnsi from 'wrap-ansi';
import { visible, visibleLine } from '../../../core/base/errors/visible.js';
import type { Trial } from '../../../study/evaluation/try-models.js';

const narrowest = 36;

/** Formats answers in as many columns as fit; the rest go below. */
export const describeTrials = (trials: readonly Trial[], width: number): string => {
  const fitting = Math.max(1, Math.min(trials.length, Math.floor((width - 1) / (narrowest + 1))));
  const column = Math.floor((width - 1) / fitting) - 1;
  const blocks: string[] = [];
  for (let first = 0; first < trials.length; first += fitting) {
    const some = trials.slice(first, first + fitting);
    const table = new Table({
      colWidths: some.map(() => column),
      style: { head: [], border: [] },
    });
    table.push(
      some.map(({ model, seconds }) =>
        wrapAnsi(visibleLine(`${model}  ${seconds.toFixed(1)} s`), column - 2, { hard: true }),
      ),
      some.map(({ text }) =>
        wrapAnsi(visible(text.trim()) || '(nothing but spaces)', column - 2, { hard: true }),
      ),
    );
    blocks.push(table.toString());
  }
  return blocks.join('\n');
};
