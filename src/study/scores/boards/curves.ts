import { isPair } from '../reading/configurations.js';
import type { ScoredModel } from '../reading/scored-experiment.js';
import type { Board, Subject } from './board.js';

/** Τ in base + α·τ: a task expert's, a language expert's, or the sum of both. */
export type CurveKind = 'task' | 'language' | 'both';

export const kindLabels: Readonly<Record<CurveKind, string>> = {
  task: 'task experts alone',
  language: 'language experts alone',
  both: 'both experts',
};

export interface Curve {
  readonly kind: CurveKind;
  /** Expert's name, or a pair's: `math-1+swh-1`. */
  readonly member: string;
  readonly task: string | null;
  readonly language: string | null;
  readonly at: ReadonlyMap<number, ScoredModel>;
}

/**
 * Returns curves on a task in a language: merges base + α·τ of its experts and pairs. α = 0 is the base, α =
 * 1 for single experts is the expert. A language without experts gets the curves of all experts. A curve
 * needs a scored merge with α ≠ 1, because α = 1 alone is plain task arithmetic.
 */
export const curvesOf = (board: Board, subject: Subject): readonly Curve[] =>
  board.remember(`curves ${subject.language} ${subject.task}`, () => makeCurves(board, subject));

const makeCurves = (board: Board, subject: Subject): Curve[] => {
  const { models, languages } = board.experiment;
  const { language } = subject;
  const scored = board.scores(models, subject).map(({ model }) => model);
  const isOwn = (model: ScoredModel): boolean =>
    model.language === language || model.languageExpert === null || !languages.includes(language);
  const found = new Map<string, Curve & { readonly at: Map<number, ScoredModel> }>();
  for (const model of scored) {
    const alpha = alphaOf(model);
    const kind = kindOf(model);
    if (alpha === undefined || kind === undefined || !isOwn(model)) continue;
    const { task, languageExpert } = model;
    const member = [task, languageExpert].filter((name) => name !== null).join('+');
    const key = `${kind} ${member}`;
    const curve = found.get(key) ?? { kind, member, task, language: languageExpert, at: new Map() };
    if (!curve.at.has(alpha)) curve.at.set(alpha, model);
    found.set(key, curve);
  }
  if (![...found.values()].some(({ at }) => [...at.keys()].some((alpha) => alpha !== 1))) return [];
  const base = scored.find(({ role }) => role === 'base');
  for (const { kind, member, at } of found.values()) {
    const expert = scored.find(({ role, name }) => role === kind && name === member);
    if (base !== undefined && !at.has(0)) at.set(0, base);
    if (expert !== undefined && !at.has(1)) at.set(1, expert);
  }
  const order = Object.keys(kindLabels);
  return [...found.values()].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
};

const kindOf = (model: ScoredModel): CurveKind | undefined => {
  const { task, languageExpert } = model;
  if (isPair(model)) return 'both';
  if (languageExpert === null) return task === null ? undefined : 'task';
  return task === null ? 'language' : undefined;
};

const alphaOf = ({ role, method, configuration }: ScoredModel): number | undefined => {
  if (role !== 'merge' || method !== 'task_arithmetic') return undefined;
  const { lambda = 1, normalize = false, weights = [1], weight = 1 } = configuration;
  const isPlain = Array.isArray(weights) && weights.every((of) => of === 1) && weight === 1;
  return isPlain && normalize === false && typeof lambda === 'number' ? lambda : undefined;
};
