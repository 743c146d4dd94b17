import { groupBy, itemAt, ownValue, valueAt } from '../../../core/base/errors/lookup.js';
import type { Board, Subject } from '../../scores/boards/board.js';
import { configurationsIn, type Group } from '../../scores/boards/groups.js';
import { compare, judged, judgedIn } from '../../scores/boards/judged.js';
import { summarise } from '../../scores/boards/summaries.js';
import { chooseOnHalf } from '../../scores/comparing/choose-on-half.js';
import { sentenceOf, whyNoBest } from '../../scores/comparing/conclusion.js';
import {
  type Configuration,
  defaultOf,
  distinctConfigurations,
} from '../../scores/reading/configurations.js';
import type { ScoredModel } from '../../scores/reading/scored-experiment.js';
import type { PageFinding, PageGrid } from '../components/data/data.js';
import type { TaskData } from './result-data.js';

const order = ['bottom', 'top', 'bottomTransition', 'topTransition', 'weights'];

const ignored = ['scaled'];

const shown = (value: unknown): string => {
  if (Array.isArray(value))
    return value.every((one) => one === value[0]) ? 'uniform' : value.map(shown).join(' : ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

/** Maximum number of parameters: foreign records may have any number. */
const mostAxes = 16;

const axesOf = (models: readonly ScoredModel[]): PageGrid['axes'] => {
  const found = new Map<string, { models: number; readonly values: Set<string> }>();
  for (const { configuration } of models)
    for (const [name, value] of Object.entries(configuration)) {
      const axis = found.get(name) ?? { models: 0, values: new Set() };
      axis.models += 1;
      axis.values.add(shown(value));
      found.set(name, axis);
    }
  for (const axis of found.values()) if (axis.models < models.length) axis.values.add(shown(undefined));
  const axes = [...found].filter(([name, { values }]) => values.size > 1 && !ignored.includes(name));
  if (axes.length > mostAxes) return [];
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return axes
    .map(([name, { values }]) => ({
      name,
      values: [...values].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })),
    }))
    .sort((a, b) => rank(a.name) - rank(b.name));
};

interface Entry {
  readonly name: string;
  readonly method: string;
  readonly candidates: readonly Configuration[];
  readonly best: Configuration;
}

/**
 * Compares an entry's best configuration with the default. If the entry has all configurations of its method,
 * this is the comparison in the table; otherwise it gives the entry's smaller number of candidates.
 */
const findingOf = (
  board: Board,
  subject: Subject,
  { name, method, candidates, best }: Entry,
  usual: Configuration,
): PageFinding | null => {
  const areThese = (others: readonly Configuration[]): boolean =>
    others.length === candidates.length &&
    distinctConfigurations([...others, ...candidates]).length === candidates.length;
  const known = judgedIn(board, subject).find(
    ({ a, b }) =>
      a.competition !== undefined &&
      b.competition === undefined &&
      b.configuration === usual.variant &&
      areThese(a.competition.candidates),
  );
  const group = (of: Configuration, id: string, more: Partial<Group> = {}): Group => ({
    ...{ id: `${id} of ${name}`, label: of.variant, subject, models: of.models, configuration: of.variant },
    ...more,
  });
  const [compared] =
    known === undefined
      ? judged(
          compare(
            board,
            group(best, `best ${method}`, { competition: { candidates, best, incomplete: 0 } }),
            group(usual, `default ${method}`),
            subject,
          ),
        )
      : [known];
  if (compared === undefined) return null;
  const { conclusion } = compared;
  return { verdict: conclusion.verdict, sentence: sentenceOf(conclusion, 'It', 'the default') };
};

const gridOf = (
  board: Board,
  models: readonly ScoredModel[],
  { page }: TaskData,
  subject: Subject,
): Omit<PageGrid, 'task'> | undefined => {
  const scored = board.scores(models, subject).map(({ model }) => model);
  const axes = axesOf(scored);
  const [first] = scored;
  if (first === undefined || axes.length === 0) return undefined;
  const byVariant = groupBy(scored, ({ variant }) => variant ?? '');
  const configurations = [...byVariant].map(
    ([variant, of]): Configuration => ({ variant, method: itemAt(of, 0).method ?? '', models: of }),
  );
  const cells = configurations.flatMap(({ variant, models: of }) => {
    const summary = summarise(board.scores(of, subject));
    const { configuration } = itemAt(of, 0);
    return summary === undefined
      ? []
      : {
          at: axes.map(({ name, values }) => values.indexOf(shown(ownValue(configuration, name)))),
          variant,
          value: summary.avg,
          stderr: summary.estimate?.stderr ?? null,
          pairs: summary.n,
        };
  });
  const undecided =
    whyNoBest({
      metric: subject.metric,
      n: Math.min(...board.scores(scored, subject).map(({ n }) => n)),
      scores: cells.map(({ value }) => value),
    }) ?? null;
  // A configuration with several names is one candidate.
  const candidates = distinctConfigurations(configurations);
  const values = new Map(cells.map(({ variant, value }) => [variant, page.higherIsBetter ? value : -value]));
  const scoreOf = ({ variant }: Configuration): number => valueAt(values, variant);
  const best = candidates.reduce((one, other) => (scoreOf(other) > scoreOf(one) + 1e-12 ? other : one));
  const usual = defaultOf(configurationsIn(board, subject.language), itemAt(candidates, 0).method);
  const indexOf = (of: Configuration | undefined): number | null => {
    if (of === undefined) return null;
    const own = cells.findIndex(({ variant }) => variant === of.variant);
    if (own !== -1) return own;
    // The grid may contain the default under another name.
    const [alike] = candidates.filter((other) => distinctConfigurations([other, of]).length === 1);
    return alike === undefined ? null : cells.findIndex(({ variant }) => variant === alike.variant);
  };
  const entry = { name: first.entry ?? '', method: best.method, candidates, best };
  const half = () =>
    chooseOnHalf(
      candidates.map((of) => board.results(of.models, subject)),
      subject.metric,
      { seed: board.resampling.seed },
    );
  return {
    entry: entry.name,
    language: subject.language,
    axes,
    cells,
    best: undecided === null ? indexOf(best) : null,
    undecided,
    usual: indexOf(usual),
    otherHalf: undecided === null ? (board.attempt(half)?.onOtherHalf ?? null) : null,
    finding: undecided !== null || usual === undefined ? null : findingOf(board, subject, entry, usual),
  };
};

export const gridsOf = (board: Board, tasks: readonly TaskData[]): PageGrid[] => {
  const merges = board.experiment.models.filter(({ role }) => role === 'merge');
  const entries = [...new Set(merges.map(({ entry }) => entry))];
  return entries.flatMap((entry) =>
    board.experiment.languages.flatMap((language) => {
      const task = tasks.findIndex(({ page }) => page.languages.includes(language));
      const data = tasks[task];
      const subject = board.subjects.find((of) => of.language === language && of.task === data?.page.name);
      const some = merges.filter((model) => model.entry === entry && model.language === language);
      if (data === undefined || subject === undefined) return [];
      if (new Set(some.map(({ variant }) => variant)).size < 2) return [];
      const grid = gridOf(board, some, data, subject);
      return grid === undefined ? [] : { ...grid, task };
    }),
  );
};
