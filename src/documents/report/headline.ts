import { groupBy } from '../../base/lookup.js';
import { type Conclusion, sentenceOf, type Verdict } from '../../scores/conclusion.js';
import { isOfLanguage } from '../../scores/groups.js';
import { rowOf } from '../../scores/intervals/rows.js';
import { scoreOf, scoresOf } from '../../scores/model-score.js';
import type { ScoredExperiment, ScoredModel } from '../../scores/scored-experiment.js';
import { summarise } from '../../scores/summaries.js';
import { showScore } from '../pages/numbers.js';
import type { Comparisons } from './difference.js';
import type { TaskData } from './result-data.js';

interface Finding {
  readonly language: string;
  readonly task: TaskData['page'];
  readonly pairs: number;
  readonly score: number;
  readonly rival: string;
  /** Of the merges against the rival. */
  readonly conclusion: Conclusion;
}

/** Names by which references' roles are called in sentences. */
const kinds: readonly { readonly role: string; readonly words: string }[] = [
  { role: 'task', words: 'the task experts' },
  { role: 'language', words: 'the language experts' },
  { role: 'base', words: 'the base' },
];

/** Verdicts in the order in which the sentence has them: those that say something, and those that do not. */
const saying: readonly Verdict[] = ['better', 'within noise', 'chosen among many', 'worse'];
const sayingNothing: readonly Verdict[] = ['too few problems', 'at floor', 'at ceiling', 'not tested'];

/**
 * Returns the variant that the sentence is about: `default` if there is one, else the variant with results
 * that most merges have.
 */
export const mainVariant = (models: readonly ScoredModel[]): string | undefined => {
  const counts = new Map<string, number>();
  for (const { role, variant, results } of models)
    if (role === 'merge' && variant !== null && results.size > 0)
      counts.set(variant, (counts.get(variant) ?? 0) + 1);
  if (counts.has('default')) return 'default';
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
};

/** Compares a variant's merges of a language, as a mean over pairs, with the best kind of single model. */
const findingOf = (
  models: readonly ScoredModel[],
  language: string,
  variant: string,
  { page }: TaskData,
  comparisons: Comparisons,
): Finding | undefined => {
  const { metric, name, higherIsBetter } = page;
  if (metric === null) return undefined;
  const measured = models.filter((model) => scoreOf(model, name, metric) !== undefined);
  const merges = measured.filter(
    (model) => model.role === 'merge' && model.language === language && model.variant === variant,
  );
  const own = summarise(scoresOf(merges, name, metric));
  if (own === undefined) return undefined;
  const rivals = kinds.flatMap(({ role, words }) => {
    const some = measured.filter((model) => model.role === role && isOfLanguage(model, language));
    const summary = summarise(scoresOf(some, name, metric));
    return summary === undefined ? [] : [{ words, some, mean: summary.avg }];
  });
  const [best] = rivals.sort((a, b) => (higherIsBetter ? b.mean - a.mean : a.mean - b.mean));
  if (best === undefined) return undefined;
  // The rival is the best of its kind on these problems, which flatters it.
  const conclusion = comparisons.conclusion(
    rowOf(merges, name),
    rowOf(
      best.some,
      name,
      rivals.map(({ some }) => some),
    ),
    metric,
    { second: rivals.length },
  );
  if (conclusion === null) return undefined;
  return { language, task: page, pairs: merges.length, score: own.avg, rival: best.words, conclusion };
};

const named = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** Joins parts as an English enumeration. */
const listed = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;

/**
 * States how the main variant's merges compare with single models, in the words of `conclude`. Null without scores, or
 * where results are not of the same problems.
 */
export const headlineSentence = (
  { models, languages }: ScoredExperiment,
  tasks: readonly TaskData[],
  comparisons: Comparisons,
): string | null => {
  const variant = mainVariant(models);
  if (variant === undefined) return null;
  const findings = languages.flatMap((language) => {
    const task = tasks.find(({ page }) => page.languages.includes(language));
    return task === undefined ? [] : (findingOf(models, language, variant, task, comparisons) ?? []);
  });
  const [first] = findings;
  if (first === undefined) return null;
  const method = models.find((model) => model.variant === variant)?.method?.replaceAll('_', ' ') ?? 'merge';
  const subject = variant === 'default' ? `the default ${method}` : `${method} (${variant})`;
  if (findings.length === 1) {
    const { score, task, pairs, rival, conclusion } = first;
    const over = pairs > 1 ? ` (mean of ${pairs} pairs)` : '';
    return `In ${named(first.language)}, ${subject} scores ${showScore(score, task)} on ${task.name}${over}. ${sentenceOf(conclusion, 'It', rival)}`;
  }
  const byVerdict = groupBy(findings, ({ conclusion }) => conclusion.verdict);
  const partsOf = (verdicts: readonly Verdict[]) =>
    verdicts.flatMap((verdict) => {
      const some = byVerdict.get(verdict) ?? [];
      const [one] = some;
      // Languages of the same numbers, such as problems too few, share their brackets.
      const byEvidence = groupBy(some, ({ conclusion }) => conclusion.evidence.join(', '));
      const languages = [...byEvidence].map(
        ([evidence, of]) => `${listed(of.map(({ language }) => named(language)))} (${evidence})`,
      );
      return one === undefined ? [] : [`${one.conclusion.words} in ${listed(languages)}`];
    });
  const over = findings.every(({ pairs }) => pairs === 1) ? '' : ' (mean over pairs)';
  const rival = 'the best kind of single model in each language';
  const [said, unsaid] = [partsOf(saying), partsOf(sayingNothing)];
  const start =
    said.length > 0
      ? `Compared with ${rival}, ${subject}${over} is ${said.join('; ')}.`
      : `Nothing can be said of ${subject}${over} against ${rival}.`;
  const estimands = groupBy(
    findings.filter(({ conclusion }) => conclusion.estimand !== null),
    ({ conclusion }) => conclusion.estimand,
  );
  const intervals = [...estimands].map(([estimand, of]) =>
    estimands.size === 1
      ? `Intervals are for ${estimand}.`
      : `The interval in ${listed(of.map(({ language }) => named(language)))} is for ${estimand}.`,
  );
  return [start, ...unsaid.map((part) => `${named(part)}.`), ...intervals].join(' ');
};
