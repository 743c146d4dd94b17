import { groupBy, itemAt, ownValue, valueAt } from '../../../core/base/errors/lookup.js';
import { chooseOnHalf } from '../comparing/choose-on-half.js';
import { whyNoBest } from '../comparing/conclusion.js';
import { type Row, rowOf } from '../intervals/rows.js';
import {
  byPartition,
  type Competition,
  type Configuration,
  compete,
  configurationsOf,
  defaultOf,
  distinctConfigurations,
  isPair,
  isUniformSoup,
} from '../reading/configurations.js';
import type { ModelScore } from '../reading/model-score.js';
import { isOfLanguage, type ScoredModel } from '../reading/scored-experiment.js';
import { meanOf } from '../statistics/mean.js';
import type { Board, Subject } from './board.js';
import { isMergedId } from './group-ids.js';

export interface Group {
  /** `base`, `language`, `task`, `soup-best`, `swap-default`, …, or a reference's role: `joint`. */
  readonly id: string;
  readonly label: string;
  /** Language and task for which the group was made and its configuration chosen. */
  readonly subject: Subject;
  readonly models: readonly ScoredModel[];
  readonly missing?: number;
  /** Configuration, for merges of pairs. */
  readonly configuration?: string;
  readonly competition?: Competition;
  /** Score on half of the problems, on the harness's scale, if it was chosen on the other half. */
  readonly otherHalf?: number;
}

/** Labels of groups in column order. Roles of further references follow the experts. */
const labels: Readonly<Record<string, string>> = {
  base: 'base',
  language: 'language experts',
  task: 'task experts',
  joint: 'joint SFT',
  'soup-default': 'soup, uniform',
  'soup-best': 'soup, best',
  'ties-default': 'TIES',
  'ties-best': 'TIES, best',
  'swap-default': 'swap, default',
  'swap-best': 'swap, best',
  'soup-of-each': 'swap of language soup and task soup',
  multilingual: 'swap of multilingual soup and task soup',
};

const order = Object.keys(labels);

export const labelOf = (id: string): string =>
  ownValue(labels, id) ?? id.replace(/-(best|default)$/, ', $1').replaceAll('_', ' ');

/** Returns a method's name in tables; like the paper's, they call layer swaps "swaps". */
const nameOf = (method: string): string => (method === 'layer_swap' ? 'swap' : method);

export const isMerged = ({ id }: Pick<Group, 'id'>): boolean => isMergedId(id);

/** Sorts ids: base, experts, further references, merges, unknown ids. */
export const sortGroups = (ids: Iterable<string>): string[] => {
  const place = (id: string): number => {
    const known = order.indexOf(id);
    if (known >= 0) return known < 3 ? known : known + 100;
    return isMergedId(id) ? 105.5 : 50;
  };
  return [...new Set(ids)].sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
};

/** Removes groups with the same models as an earlier group: a single configuration is both default and best. */
export const distinctGroups = (groups: readonly Group[]): Group[] =>
  groups.filter(
    ({ models }, at) =>
      !groups
        .slice(0, at)
        .some(
          (former) =>
            former.models.length === models.length && former.models.every((model, i) => model === models[i]),
        ),
  );

/** Returns a group's row on a task, with the candidates if it was chosen on this task. */
export const rowIn = ({ models, competition, subject }: Group, { task }: Subject): Row =>
  rowOf(models, task, subject.task === task ? competition?.candidates.map((of) => of.models) : []);

export const configurationsIn = (board: Board, language: string): readonly Configuration[] =>
  board.remember(`configurations ${language}`, () => configurationsOf(board.experiment.models, language));

/** Returns a group's label. A subject's own label takes precedence, because soups may not be uniform. */
export const labelIn = (board: Board, subjects: readonly Subject[], id: string): string => {
  const labels = subjects.flatMap((subject) =>
    groupsOf(board, subject).flatMap((group) => (group.id === id ? group.label : [])),
  );
  return labels.find((label) => label !== labelOf(id)) ?? labelOf(id);
};

export interface Undecided {
  readonly label: string;
  /** The reason, such as `too few problems to say (…)`. */
  readonly reason: string;
}

/** Maximum number of models other than merges that are compared singly; more would give too many pairs. */
const mostAlone = 10;

/** True if each model is a group of its own: the experiment has few models and no merges. */
export const areAlone = ({ experiment: { models } }: Board): boolean =>
  models.length <= mostAlone && models.every(({ role }) => role !== 'merge');

interface Found {
  readonly groups: readonly Group[];
  readonly undecided: readonly Undecided[];
}

/**
 * Returns a language's groups with scores on a task: base, experts, further references, and each method's
 * default and best configuration. The best is chosen on this task, and absent if the problems cannot decide
 * (`undecidedIn`).
 */
export const groupsOf = (board: Board, subject: Subject): readonly Group[] => foundIn(board, subject).groups;

/** Returns the methods whose best configuration the problems do not decide. */
export const undecidedIn = (board: Board, subject: Subject): readonly Undecided[] =>
  foundIn(board, subject).undecided;

const foundIn = (board: Board, subject: Subject): Found =>
  board.remember(`groups ${subject.language} ${subject.task}`, () => makeGroups(board, subject));

const makeGroups = (board: Board, subject: Subject): Found => {
  const { models } = board.experiment;
  const { language } = subject;
  const groups: Group[] = [];
  const undecided: Undecided[] = [];
  const add = (id: string, of: readonly ScoredModel[], more: Partial<Group> = {}) => {
    const scored = board.scores(of, subject).map(({ model }) => model);
    const missing = of.filter((model) => !scored.includes(model)).length;
    if (scored.length > 0) groups.push({ id, label: labelOf(id), subject, models: scored, missing, ...more });
  };
  if (areAlone(board)) {
    for (const model of models) add(model.name, [model], { label: model.name });
    return { groups, undecided };
  }
  const roles = new Set(models.map(({ role }) => role));
  for (const role of roles)
    if (role !== 'merge')
      add(
        role,
        models.filter((model) => model.role === role && isOfLanguage(model, language)),
      );
  const configurations = configurationsIn(board, language);
  const scores = new Map(
    board.scores(models.filter(isPair), subject).map((score) => [score.model.name, score]),
  );
  for (const method of new Set(configurations.map((of) => of.method))) {
    const usual = defaultOf(configurations, method);
    if (usual !== undefined)
      add(`${nameOf(method)}-default`, usual.models, {
        configuration: usual.variant,
        ...(method === 'soup' && !usual.models.every(isUniformSoup) ? { label: 'soup, default' } : {}),
      });
    const own = configurations.filter((of) => of.method === method);
    const competition = compete(own, scores);
    if (competition === undefined) continue;
    const { best, candidates } = competition;
    const reason = candidates.length < 2 ? undefined : whyUndecided(subject, candidates, scores);
    if (reason !== undefined) {
      undecided.push({ label: labelOf(`${nameOf(method)}-best`), reason });
      continue;
    }
    const half =
      candidates.length < 2
        ? undefined
        : board.attempt(() =>
            chooseOnHalf(
              candidates.map((of) => board.results(of.models, subject)),
              subject.metric,
              { seed: board.resampling.seed },
            ),
          );
    const whole = own.find(({ variant }) => variant === best.variant) ?? best;
    add(`${nameOf(method)}-best`, whole.models, {
      configuration: best.variant,
      competition,
      ...(method.startsWith(byPartition) ? { label: method.slice(byPartition.length) } : {}),
      ...(half === undefined ? {} : { otherHalf: half.onOtherHalf }),
    });
  }
  const soups = models.filter(
    ({ role, task, method }) => role === 'merge' && task === 'soup' && method === 'layer_swap',
  );
  add(
    'soup-of-each',
    oneOf(soups.filter((model) => model.languageExpert === 'soup' && model.language === language)),
  );
  add('multilingual', oneOf(soups.filter((model) => model.languageExpert === 'all-soup')));
  const ids = sortGroups(groups.map(({ id }) => id));
  return { groups: ids.flatMap((id) => groups.filter((group) => group.id === id)), undecided };
};

const whyUndecided = (
  { metric }: Subject,
  candidates: readonly Configuration[],
  scores: ReadonlyMap<string, ModelScore>,
): string | undefined => {
  const own = candidates.map(({ models }) => models.map(({ name }) => valueAt(scores, name)));
  return whyNoBest({
    metric,
    n: Math.min(...own.flat().map(({ n }) => n)),
    scores: own.map((of) => meanOf(of.map(({ value }) => value))),
  });
};

/** Returns the merge whose experts are soups; if there are several, the default configuration's. */
const oneOf = (models: readonly ScoredModel[]): readonly ScoredModel[] => {
  const byVariant = [...groupBy(models, ({ variant, name }) => variant ?? name)];
  const distinct = distinctConfigurations(
    byVariant.map(([variant, of]) => ({ method: 'layer_swap', variant, models: of })),
  );
  const usual = distinct.length === 1 ? distinct[0] : defaultOf(distinct, 'layer_swap');
  return usual === undefined ? [] : [itemAt(usual.models, 0)];
};
