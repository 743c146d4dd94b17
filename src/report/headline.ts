import type { ScoredExperiment, ScoredModel } from '../scores/scored-experiment.js';
import { scoreOf, scoresOf, summarise } from '../scores/summaries.js';
import type { Comparisons } from './difference.js';
import type { Difference } from './pages/data.js';
import { showScore, showSigned } from './pages/numbers.js';
import type { TaskData } from './result-data.js';

interface Finding {
  readonly language: string;
  readonly task: TaskData['page'];
  readonly pairs: number;
  readonly score: number;
  readonly rival: string;
  readonly gain: Difference;
}

/** Names by which references' roles are called in sentences. */
const kinds: readonly { readonly role: string; readonly words: string }[] = [
  { role: 'task', words: 'the task experts' },
  { role: 'language', words: 'the language experts' },
  { role: 'base', words: 'the base' },
];

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
  const resultsOf = (some: readonly ScoredModel[]) => some.flatMap(({ results }) => results.get(name) ?? []);
  const merges = measured.filter(
    (model) => model.role === 'merge' && model.language === language && model.variant === variant,
  );
  const own = summarise(scoresOf(merges, name, metric));
  if (own === undefined) return undefined;
  const rivals = kinds.flatMap(({ role, words }) => {
    const some = measured.filter(
      (model) => model.role === role && (role !== 'language' || model.languages.includes(language)),
    );
    const summary = summarise(scoresOf(some, name, metric));
    return summary === undefined ? [] : [{ words, some, mean: summary.avg }];
  });
  const [best] = rivals.sort((a, b) => (higherIsBetter ? b.mean - a.mean : a.mean - b.mean));
  const gain =
    best === undefined ? null : comparisons.difference(resultsOf(merges), resultsOf(best.some), metric);
  if (best === undefined || gain === null) return undefined;
  return { language, task: page, pairs: merges.length, score: own.avg, rival: best.words, gain };
};

const named = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

const interval = ({ gain, task }: Finding): string =>
  `95 % interval ${showSigned(gain.interval[0], task)} to ${showSigned(gain.interval[1], task)}`;

/** Joins parts as an English enumeration. */
const listed = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;

/**
 * States in one sentence how the main variant's merges compare with single models, with intervals: better,
 * worse, or within noise. Null without results by problem.
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
    const { gain, task, pairs } = first;
    const isNoise = gain.interval[0] <= 0 && gain.interval[1] >= 0;
    const side = gain.mean >= 0 ? 'above' : 'below';
    return `In ${named(first.language)}, ${subject} scores ${showScore(first.score, task)} on ${task.name}${pairs > 1 ? ` (mean of ${pairs} pairs)` : ''}, ${showScore(Math.abs(gain.mean), task)} ${side} ${first.rival}${isNoise ? ', which is within noise' : ''} (${interval(first)}).`;
  }
  const goodness = ({ gain, task }: Finding): 'better' | 'noise' | 'worse' => {
    const [from, to] = task.higherIsBetter
      ? gain.interval
      : ([-gain.interval[1], -gain.interval[0]] as const);
    return from > 0 ? 'better' : to < 0 ? 'worse' : 'noise';
  };
  const group = (kind: ReturnType<typeof goodness>, words: string) => {
    const some = findings.filter((finding) => goodness(finding) === kind);
    const parts = some.map(
      (finding) =>
        `${named(finding.language)} (${showSigned(finding.gain.mean, finding.task)}, ${interval(finding)})`,
    );
    return some.length === 0 ? [] : [`${words} ${listed(parts)}`];
  };
  const pairs = [...new Set(findings.map((finding) => finding.pairs))];
  const over = pairs.length === 1 && pairs[0] === 1 ? '' : ` (mean over pairs)`;
  return `Compared with the best kind of single model in each language, ${subject}${over} is ${[
    ...group('better', 'better in'),
    ...group('noise', 'within noise in'),
    ...group('worse', 'worse in'),
  ].join('; ')}.`;
};
