import { groupBy, itemAt } from '../../../core/base/errors/lookup.js';
import { capitalised, inWords } from '../../../core/base/format.js';
import type { Board, Subject } from '../../scores/boards/board.js';
import { type Group, groupsOf, isMerged } from '../../scores/boards/groups.js';
import { compare, type Judged, judged, judgedIn } from '../../scores/boards/judged.js';
import { type Summary, summarise } from '../../scores/boards/summaries.js';
import { sentenceOf, type Verdict } from '../../scores/comparing/conclusion.js';
import type { PageTable, PageTask, ReportData } from '../components/data/data.js';
import { showScore } from '../components/data/numbers.js';
import type { TaskData } from './result-data.js';

interface Finding {
  readonly task: PageTask;
  readonly own: Summary;
  readonly compared: Judged;
}

/** Kinds of models; if several are equally good, the first counts as the best. */
const kinds: Readonly<Record<string, string>> = {
  task: 'the task experts',
  language: 'the language experts',
  base: 'the base',
};

/** Verdicts in the order in which the sentence gives them. */
const saying: readonly Verdict[] = ['better', 'within noise', 'chosen among many', 'one of many', 'worse'];
const sayingNothing: readonly Verdict[] = ['too few problems', 'at floor', 'at ceiling', 'not tested'];

/**
 * Returns the merges that a language's sentence describes: the entry `default`, else the default layer swap, another
 * default, or the best. Without groups, returns the variant with the most scored merges.
 */
const mainGroup = (board: Board, subject: Subject): Group | undefined => {
  const merged = groupsOf(board, subject).filter(isMerged);
  const isDefault = ({ id }: Group) => id.endsWith('-default');
  const found =
    merged.find(({ configuration }) => configuration === 'default') ??
    merged.find(({ id }) => id === 'swap-default') ??
    merged.find(isDefault) ??
    merged.find(({ id }) => id === 'swap-best') ??
    merged[0];
  if (found !== undefined) return found;
  const others = board
    .scores(board.experiment.models, subject)
    .flatMap(({ model }) => (model.role === 'merge' && model.language === subject.language ? [model] : []));
  const [most] = [...groupBy(others, ({ variant, name }) => variant ?? name)].sort(
    ([a, ofA], [b, ofB]) => ofB.length - ofA.length || (a < b ? -1 : 1),
  );
  if (most === undefined) return undefined;
  const [id, models] = most;
  return { id, label: id, subject, models, configuration: id };
};

const findingOf = (board: Board, { page }: TaskData, subject: Subject): Finding | undefined => {
  const merges = mainGroup(board, subject);
  const own = merges && summarise(board.scores(merges.models, subject));
  if (merges === undefined || own === undefined) return undefined;
  const sign = page.higherIsBetter ? 1 : -1;
  const means = Object.keys(kinds).flatMap((id) => {
    const group = groupsOf(board, subject).find((of) => of.id === id);
    const summary = group && summarise(board.scores(group.models, subject));
    return group === undefined || summary === undefined ? [] : [{ group, mean: sign * summary.avg }];
  });
  const best = means.reduce<(typeof means)[number] | undefined>(
    (one, other) => (one === undefined || other.mean > one.mean + 1e-12 ? other : one),
    undefined,
  );
  if (best === undefined) return undefined;
  const known = judgedIn(board, subject).find(({ a, b }) => a.id === merges.id && b.id === best.group.id);
  const [compared] = known === undefined ? judged(compare(board, merges, best.group, subject)) : [known];
  return compared && { task: page, own, compared };
};

const languageOf = ({ compared }: Finding): string => capitalised(compared.subject.language);

const wordsOf = ({ id, models, configuration, competition }: Group): string => {
  const { method } = itemAt(models, 0);
  const name = method?.replaceAll('_', ' ') ?? 'merge';
  if (configuration === 'default') return `the default ${name}`;
  if (configuration === undefined) return `the merge of soups (${id})`;
  return `${(competition?.candidates.length ?? 1) > 1 ? `the best ${name}` : name} (${configuration})`;
};

type Headline = Pick<ReportData, 'sentence' | 'verdicts'>;

/**
 * Compares each language's merges with single models, with the words and figures of the table of comparisons.
 * Null without scores, or if results are on different problems.
 */
export const headlineOf = (board: Board, tasks: readonly TaskData[]): Headline => {
  const findings = board.experiment.languages.flatMap((language) => {
    const task = tasks.find(({ page }) => page.languages.includes(language));
    const subject = board.subjects.find((of) => of.language === language && of.task === task?.page.name);
    return task === undefined || subject === undefined ? [] : (findingOf(board, task, subject) ?? []);
  });
  const [first] = findings;
  if (first === undefined) return { sentence: null, verdicts: null };
  if (findings.length === 1) {
    const { own, task, compared } = first;
    const over = own.n > 1 ? ` (mean of ${own.n} pairs)` : '';
    const sentence =
      `In ${languageOf(first)}, ${wordsOf(compared.a)} scores ${showScore(own.avg, task)} on ${task.name}${over}. ` +
      sentenceOf(compared.conclusion, 'It', rivalOf(first));
    return { sentence, verdicts: null };
  }
  const byMerges = groupBy(findings, ({ compared }) => wordsOf(compared.a));
  const sentences = [...byMerges].map(([words, of]) => comparedSentence(words, of));
  return { sentence: sentences.join(' '), verdicts: verdictsOf(findings) };
};

const rivalOf = ({ compared }: Finding): string => kinds[compared.b.id] as string;

const verdictsOf = (findings: readonly Finding[]): PageTable => ({
  ...{ id: 'result', title: 'Result by language', caption: intervalSentences(findings), notes: [] },
  rowLabel: 'Language',
  columns: ['Verdict', 'Difference', '95 % interval', 'From', 'Evidence'].map((id) => ({ id, label: id })),
  rows: findings.map((finding) => {
    const { difference, interval, words, evidence } = finding.compared.conclusion;
    const shown = [difference, `95 % interval ${interval}`, 'higher is better'];
    const further = evidence.filter((part) => !shown.includes(part)).join(', ');
    const cells = [words, difference, interval, rivalOf(finding), further];
    const label = languageOf(finding);
    return { id: label, label, cells: cells.map((value) => (value === null ? null : { value, digits: 0 })) };
  }),
});

const comparedSentence = (words: string, findings: readonly Finding[]): string => {
  const byVerdict = groupBy(findings, ({ compared }) => compared.conclusion.verdict);
  const partsOf = (verdicts: readonly Verdict[]) =>
    verdicts.flatMap((verdict) => {
      const some = byVerdict.get(verdict);
      const found = some && itemAt(some, 0).compared.conclusion.words;
      return some === undefined ? [] : `${found} in ${inWords(some.map(languageOf))}`;
    });
  const over = findings.every(({ own }) => own.n === 1) ? '' : ' (mean over pairs)';
  const rival = 'the best kind of single model in each language';
  const [said, unsaid] = [partsOf(saying), partsOf(sayingNothing)];
  return said.length > 0
    ? `Compared with ${rival}, ${words}${over} is ${[...said, ...unsaid].join('; ')}.`
    : `${capitalised(words)}${over} cannot be compared with ${rival}: ${unsaid.join('; ')}.`;
};

const intervalSentences = (findings: readonly Finding[]): string => {
  const estimands = groupBy(
    findings.filter(({ compared }) => compared.conclusion.estimand !== null),
    ({ compared }) => compared.conclusion.estimand,
  );
  const sentences = [...estimands].map(([estimand, of]) =>
    estimands.size === 1
      ? `Intervals are for ${estimand}.`
      : `The interval in ${inWords(of.map(languageOf))} is for ${estimand}.`,
  );
  return sentences.join(' ');
};
