import { groupBy } from '../../../core/base/errors/lookup.js';
import type { Board, Subject } from '../../scores/boards/board.js';
import { type Judged, judged, judgedIn } from '../../scores/boards/judged.js';
import { compareRows, type PairedComparison } from '../../scores/comparing/paired.js';
import { distinctMerges } from '../../scores/reading/configurations.js';
import { scaleOf } from '../../scores/reading/metrics.js';
import type { ScoredModel } from '../../scores/reading/scored-experiment.js';
import type { PageTable } from '../components/data/data.js';
import type { TaskData } from './result-data.js';

interface Compared {
  readonly model: ScoredModel;
  readonly subject: Pick<Subject, 'task' | 'metric'>;
  readonly result: PairedComparison;
}

/**
 * Lists merges that look worse than the base on a task: the whole paired 95 % interval is below zero
 * difference. By chance, 1 in 40 merges that equal the base looks worse. A merge is called worse only if its
 * p-value is below 5 % after Holm's correction over all merges of a language on the task. Null if nothing
 * could be compared.
 */
export const regressionsOf = (board: Board, tasks: readonly TaskData[]): PageTable | null => {
  const all = tasks.flatMap((task) => {
    const byLanguage = groupBy(compared(board, task), ({ model }) => model.language);
    return [...byLanguage.values()].flatMap((of) => judged(of).map((one) => knownOf(board, one)));
  });
  if (all.length === 0) return null;
  const listed = all.filter(({ result, conclusion: { verdict } }) => {
    const isWorse = result.difference > 0 !== result.higherIsBetter;
    return verdict === 'worse' || (verdict === 'one of many' && isWorse);
  });
  const unsaid = all.filter(({ conclusion }) => conclusion.verdict === 'too few problems').length;
  const worse = listed.filter(({ conclusion }) => conclusion.verdict === 'worse').length;
  return {
    id: 'regressions',
    title: 'Regressions against the base',
    caption:
      `${worse} of ${all.length} comparisons of a merge with the base are worse beyond noise, corrected for their number in each language and task; ` +
      `${listed.length - worse} more look worse in their own test, as 1 in 40 merges that equal the base does by chance.` +
      (unsaid === 0 ? '' : ` ${unsaid} have too few problems to tell.`),
    notes: [
      'Listed: the 95 % interval of the difference by problem is on the worse side, and p is below 5 %. Worse: p is also below 5 % after Holm’s correction for all merges of the language that are compared with the base in the task. A merge with several names counts once. A merge that is a group by itself has the correction of the table of comparisons.',
    ],
    columns: [
      { id: 'task', label: 'Task' },
      { id: 'merge', label: 'Merge' },
      { id: 'base', label: 'Base' },
      { id: 'difference', label: 'Difference' },
      { id: 'p', label: 'p, corrected' },
      { id: 'verdict', label: 'Verdict' },
    ],
    rows: listed.map(rowOf),
  };
};

/** If a group of the table of comparisons consists of this merge alone, uses the table's verdict. */
const knownOf = <Of extends Compared>(board: Board, of: Of & Concluded): Of & Concluded => {
  const found = board.subjects
    .filter(({ language, task }) => language === of.model.language && task === of.subject.task)
    .flatMap((subject) => judgedIn(board, subject))
    .find(
      ({ a, b }) =>
        b.id === 'base' && a.competition === undefined && a.models.every((model) => model === of.model),
    );
  return found === undefined ? of : { ...of, adjusted: found.adjusted, conclusion: found.conclusion };
};

type Concluded = Pick<Judged, 'adjusted' | 'conclusion'>;

const rowOf = ({ model, subject, result, adjusted, conclusion }: Compared & Concluded) => {
  const { task, metric } = subject;
  const { factor, digits } = scaleOf(metric);
  const { scores, difference, interval, n } = result;
  return {
    id: `${model.name} ${task}`,
    label: model.name,
    cells: [
      { value: task, digits: 0 },
      { value: factor * scores[0], digits },
      { value: factor * scores[1], digits },
      {
        value: factor * difference,
        digits,
        n,
        ...(interval === undefined
          ? {}
          : { interval: [factor * interval[0], factor * interval[1]] as const }),
      },
      adjusted === undefined ? null : { value: adjusted, digits: 3 },
      { value: conclusion.verdict === 'worse' ? 'worse' : 'may be chance', digits: 0 },
    ],
  };
};

/** Compares merges with the base on a task, each once even if it has several names. */
const compared = (board: Board, { page: { name: task, metric } }: TaskData): Compared[] => {
  const { models } = board.experiment;
  const rival = models.find(({ role }) => role === 'base')?.results.get(task);
  if (rival === undefined || metric === null) return [];
  return distinctMerges(models.filter(({ role, results }) => role === 'merge' && results.has(task))).flatMap(
    (model) => {
      const results = board.results([model], { task });
      const result = board.attempt(() => compareRows({ results }, { results: [rival] }, metric));
      return result?.p === undefined ? [] : [{ model, subject: { task, metric }, result }];
    },
  );
};
