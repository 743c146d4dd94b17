import type { EvaluationResult } from '../../../src/study/evaluation/result.js';
import { conclude } from '../../../src/study/scores/comparing/conclusion.js';
import { compareRows, type PairedComparison } from '../../../src/study/scores/comparing/paired.js';
import {
  type Estimate,
  estimateOfChosen,
  estimateOfExtreme,
  estimateOfMean,
} from '../../../src/study/scores/intervals/estimates.js';
import { onlyThese, rowOf } from '../../../src/study/scores/intervals/rows.js';
import { type ModelScore, scoresOf } from '../../../src/study/scores/reading/model-score.js';
import type { ScoredModel } from '../../../src/study/scores/reading/scored-experiment.js';
import { meanOf } from '../../../src/study/scores/statistics/mean.js';
import { constructedResult, exactMatch, scoredModel, seeded } from '../../fixtures/scored.js';

// Simulated studies with known true scores. A model answers right with the logistic of a level, its experts'
// effects, the problem's difficulty, and how hard each expert finds it. All effects are normal.

/**
 * Standard deviations of experts' effects in points, from the paper's Table 1, as root mean squares over four
 * languages. For merges, (max − mean) / 1.485 over nine pairs: 2.5 for the default swap, 3.3 for the best.
 * For experts, (max − mean) / 0.846 over three: 4.7 for task and 1.9 for language experts. Problem sampling
 * is not subtracted, so these are upper bounds.
 */
const sizes = { task: 2.4, language: 1.6, both: 1, taskExpert: 4.7, languageExpert: 1.9 } as const;

const ofConfiguration = { task: 1.2, language: 0.8, both: 0.5 } as const;

/**
 * Standard deviations in logits: of problems, and of how hard one expert, merge or configuration finds a
 * problem.
 */
const difficulty = { problem: 2, own: 0.5 } as const;

const configurations = 9;

/** Resamples of figures that are chosen again: enough for a mean and a variance. */
const resampling = { resamples: 500, seed: 1 } as const;

export interface Design {
  readonly level: number;
  readonly experts: number;
  readonly problems: number;
  readonly effects: number;
  /** Sampled answers to each problem; default 1. */
  readonly answers?: number;
}

/**
 * A study's result: whether the interval held the truth, its width in points, and whether a false claim was
 * made.
 */
export interface Outcome {
  readonly holds: boolean;
  readonly width: number;
  readonly isFalseClaim: boolean;
}

export const figures = ['mean', 'highest', 'difference', 'gain', 'best', 'best less default'] as const;

export type Figure = (typeof figures)[number];

const logistic = (logit: number): number => 1 / (1 + Math.exp(-logit));

/** Points and weights of the standard normal distribution, for expected values. */
const normal = Array.from({ length: 61 }, (_, at) => -6 + at / 5).map((x) => ({
  x,
  weight: Math.exp((-x * x) / 2) / (5 * Math.sqrt(2 * Math.PI)),
}));

/** Expected share of right answers at a logit, over normal effects with this standard deviation. */
const shareAt = (logit: number, deviation: number): number =>
  normal.reduce((sum, { x, weight }) => sum + weight * logistic(logit + deviation * x), 0);

const logitOf = (share: number, deviation: number): number => {
  let [low, high] = [-12, 12];
  while (high - low > 1e-9) {
    const middle = (low + high) / 2;
    if (shareAt(middle, deviation) < share) low = middle;
    else high = middle;
  }
  return low;
};

const spread = Math.sqrt(difficulty.problem ** 2 + 3 * difficulty.own ** 2);

/** The logit of a level, and the logits of a point of score there. */
interface Place {
  readonly start: number;
  readonly point: number;
}

const places = new Map<number, Place>();

const placeOf = (level: number): Place => {
  const known = places.get(level);
  if (known !== undefined) return known;
  const start = logitOf(level, spread);
  const slope = (shareAt(start + 0.01, spread) - shareAt(start - 0.01, spread)) / 0.02;
  const place = { start, point: 0.01 / slope };
  places.set(level, place);
  return place;
};

const task = 'constructed';

const randomOf = (seed: number) => {
  const uniform = seeded(seed);
  const gauss = (deviation: number) =>
    deviation * Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const many = (count: number, deviation: number) => Array.from({ length: count }, () => gauss(deviation));
  return { uniform, gauss, many };
};

type Random = ReturnType<typeof randomOf>;

const shared = constructedResult({ task, scores: Array<number>(1000).fill(0) });

/** @param answers to each problem; several make a result of samples, whose runs are not needed here */
const resultOf = (name: string, scores: readonly number[], answers = 1): EvaluationResult => ({
  ...shared,
  ...(answers === 1 ? {} : { drawn: { runs: [], variances: new Map() } }),
  model: name,
  n: scores.length,
  metrics: { [exactMatch]: meanOf(scores) },
  problems: scores.map((score, id) => ({
    ...(shared.problems[id] as EvaluationResult['problems'][number]),
    scores: { [exactMatch]: score },
  })),
});

interface Simulated {
  readonly model: ScoredModel;
  readonly truth: number;
}

interface World extends Place {
  readonly design: Design;
  readonly random: Random;
  readonly problems: readonly number[];
  readonly ofTask: readonly (readonly number[])[];
  readonly ofLanguage: readonly (readonly number[])[];
  readonly tasks: readonly number[];
  readonly languages: readonly number[];
  readonly both: readonly number[];
}

const worldOf = (design: Design, seed: number): World => {
  const random = randomOf(seed);
  const { experts, problems, effects } = design;
  const own = () => Array.from({ length: experts }, () => random.many(problems, difficulty.own));
  const place = placeOf(design.level);
  const size = effects * place.point;
  return {
    ...place,
    design,
    random,
    problems: random.many(problems, difficulty.problem),
    ofTask: own(),
    ofLanguage: own(),
    tasks: random.many(experts, sizes.task * size),
    languages: random.many(experts, sizes.language * size),
    both: random.many(experts ** 2, sizes.both * size),
  };
};

/** Returns the number of right answers whose distribution function first exceeds a uniform number. */
const binomialAt = (uniform: number, answers: number, chance: number): number => {
  // From the frequent end, where few steps are enough.
  if (chance > 0.5) return answers - binomialAt(uniform, answers, 1 - chance);
  let [right, probability] = [0, (1 - chance) ** answers];
  let sum = probability;
  while (uniform >= sum && right < answers) {
    probability *= ((answers - right) / (right + 1)) * (chance / (1 - chance));
    right += 1;
    sum += probability;
  }
  return right;
};

const answer = (world: World, logit: number, ofProblem: (problem: number) => number): number[] => {
  const { answers = 1 } = world.design;
  return world.problems.map((hardness, problem) => {
    const chance = logistic(logit + hardness + ofProblem(problem));
    return binomialAt(world.random.uniform(), answers, chance) / answers;
  });
};

const merges = (world: World, name: string, differs = 0): Simulated[] => {
  const { experts, problems, effects } = world.design;
  const { random } = world;
  const size = effects * world.point * differs;
  const tasks = random.many(experts, ofConfiguration.task * size);
  const languages = random.many(experts, ofConfiguration.language * size);
  const hardness = random.many(problems, difficulty.own);
  return world.tasks.flatMap((ofTask, t) =>
    world.languages.map((ofLanguage, l): Simulated => {
      const both = (world.both[t * experts + l] ?? 0) + random.gauss(ofConfiguration.both * size);
      const logit = world.start + ofTask + ofLanguage + both + (tasks[t] ?? 0) + (languages[l] ?? 0);
      const scores = answer(
        world,
        logit,
        (at) => (world.ofTask[t]?.[at] ?? 0) + (world.ofLanguage[l]?.[at] ?? 0) + (hardness[at] ?? 0),
      );
      return {
        truth: shareAt(logit, spread),
        model: scoredModel({
          ...{ name: `${name}/${t}+${l}`, task: `task-${t}`, languageExpert: `language-${l}` },
          results: { [task]: resultOf(`${name}/${t}+${l}`, scores, world.design.answers) },
        }),
      };
    }),
  );
};

const expertsOf = (world: World): Simulated[] => {
  const make = (
    role: 'task' | 'language',
    effects: readonly number[],
    ofProblem: readonly (readonly number[])[],
    scale: number,
  ): Simulated[] =>
    effects.map((effect, at) => {
      const logit = world.start + scale * effect;
      const own = world.random.many(world.design.problems, difficulty.own);
      const scores = answer(
        world,
        logit,
        (problem) => Math.SQRT2 * (ofProblem[at]?.[problem] ?? 0) + (own[problem] ?? 0),
      );
      const name = `${role}-${at}`;
      return {
        truth: shareAt(logit, spread),
        model: scoredModel({ name, role, results: { [task]: resultOf(name, scores, world.design.answers) } }),
      };
    });
  return [
    ...make('task', world.tasks, world.ofTask, sizes.taskExpert / sizes.task),
    ...make('language', world.languages, world.ofLanguage, sizes.languageExpert / sizes.language),
  ];
};

const populationTruth = ({ effects, level }: Design, differs = 0): number => {
  const { start, point } = placeOf(level);
  const variance =
    sizes.task ** 2 +
    sizes.language ** 2 +
    sizes.both ** 2 +
    differs ** 2 * (ofConfiguration.task ** 2 + ofConfiguration.language ** 2 + ofConfiguration.both ** 2);
  return shareAt(start, Math.sqrt(spread ** 2 + (effects * point) ** 2 * variance));
};

const modelsOf = (some: readonly Simulated[]): ScoredModel[] => some.map(({ model }) => model);
const scoresIn = (some: readonly Simulated[]): ModelScore[] => scoresOf(modelsOf(some), task, exactMatch);
const truthOf = (some: readonly Simulated[]): number => meanOf(some.map(({ truth }) => truth));
const meanScoreOf = (some: readonly Simulated[]): number => meanOf(scoresIn(some).map(({ value }) => value));

const outcome = (
  { interval }: Pick<Estimate, 'interval'>,
  truth: number,
  isFalseClaim = false,
): Outcome | undefined =>
  interval === undefined
    ? undefined
    : {
        holds: interval[0] <= truth && truth <= interval[1],
        width: 100 * (interval[1] - interval[0]),
        isFalseClaim,
      };

const compared = (comparison: PairedComparison, truth: number): Outcome | undefined => {
  const { verdict } = conclude({ metric: exactMatch, ...comparison });
  const isFalse = (verdict === 'better' && truth <= 0) || (verdict === 'worse' && truth >= 0);
  return outcome(comparison, truth, isFalse);
};

const bestOf = <T>(items: readonly T[], score: (item: T) => number): T =>
  items.reduce((best, item) => (score(item) > score(best) ? item : best));

export const study = (figure: Figure, design: Design, seed: number): Outcome | undefined => {
  const world = worldOf(design, seed);
  const isPopulation = design.experts > 1;
  switch (figure) {
    case 'mean': {
      const own = merges(world, 'default');
      const truth = isPopulation ? populationTruth(design) : truthOf(own);
      return outcome(estimateOfMean(scoresIn(own)) ?? { interval: undefined }, truth);
    }
    case 'highest': {
      const own = merges(world, 'default');
      const best = bestOf(own, (one) => meanScoreOf([one]));
      const estimate = estimateOfExtreme(scoresIn(own), 1, resampling);
      return outcome(estimate ?? { interval: undefined }, best.truth);
    }
    case 'difference': {
      // For a single pair, configurations are equal for its two experts, so a claim is false.
      const [a, b] = [merges(world, 'a', isPopulation ? 1 : 0), merges(world, 'b', isPopulation ? 1 : 0)];
      return compared(compareRows(rowOf(modelsOf(a), task), rowOf(modelsOf(b), task), exactMatch), 0);
    }
    case 'gain': {
      const [own, experts] = [merges(world, 'default'), expertsOf(world)];
      const best = bestOf(experts, (one) => meanScoreOf([one]));
      const candidates = experts.map(({ model }) => [model]);
      const comparison = compareRows(
        onlyThese(rowOf(modelsOf(own), task)),
        rowOf([best.model], task, candidates),
        exactMatch,
        resampling,
      );
      return compared(comparison, truthOf(own) - best.truth);
    }
    default: {
      const all = Array.from({ length: configurations }, (_, at) =>
        merges(world, `${at}`, isPopulation ? 1 : 0),
      );
      const best = bestOf(all, meanScoreOf);
      const row = rowOf(modelsOf(best), task, all.map(modelsOf));
      if (figure === 'best') {
        const truth = isPopulation ? populationTruth(design, 1) : truthOf(best);
        return outcome(estimateOfChosen(row, exactMatch, 1, resampling) ?? { interval: undefined }, truth);
      }
      const usual = merges(world, 'default', isPopulation ? 1 : 0);
      return compared(compareRows(row, rowOf(modelsOf(usual), task), exactMatch, resampling), 0);
    }
  }
};

export interface Coverage {
  readonly studies: number;
  readonly coverage: number;
  readonly falseClaims: number;
  readonly width: number;
}

export const coverageOf = (figure: Figure, design: Design, studies: number): Coverage => {
  // Each cell draws its own studies (FNV-1a), so that chance misses do not repeat.
  const name = `${figure} ${Object.entries(design).sort().join(' ')}`;
  const first = [...name].reduce(
    (hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16_777_619) >>> 0,
    2_166_136_261,
  );
  const outcomes = Array.from({ length: studies }, (_, at) => study(figure, design, first + 31 * at)).filter(
    (of) => of !== undefined,
  );
  const share = (is: (of: Outcome) => boolean) => (100 * outcomes.filter(is).length) / studies;
  return {
    studies,
    coverage: share(({ holds }) => holds),
    falseClaims: share(({ isFalseClaim }) => isFalseClaim),
    width: meanOf(outcomes.map(({ width }) => width)),
  };
};
