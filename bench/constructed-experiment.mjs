/**
 * A constructed experiment: no model was merged or scored, as its names and texts say. For tests,
 * measurements and pictures of pages.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @typedef {import('../src/study/scores/reading/scored-experiment.js').ScoredExperiment} ScoredExperiment */
/** @typedef {import('../src/study/scores/reading/scored-experiment.js').ScoredModel} ScoredModel */
/** @typedef {import('../src/study/evaluation/result.js').EvaluationResult} EvaluationResult */

/** The metric of the results. */
export const metric = 'exact_match,flexible-extract';

/** Returns a seeded generator of numbers in [0, 1) (mulberry32). @param {number} seed */
const seeded = (seed) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** @param {number} id @param {string} language */
const question = (id, language) =>
  `(constructed, ${language}) A seller packs ${3 + (id % 17)} crates with ${4 + (id % 23)} mangoes each and sells ${
    2 + (id % 9)
  } of the crates on ${['Monday', 'Tuesday', 'Wednesday', 'Thursday'][id % 4]}. How many mangoes are left?`;

/** @param {number} id */
const target = (id) => (3 + (id % 17) - (2 + (id % 9))) * (4 + (id % 23));

/** @param {number} id @param {number} answer @param {number} style */
const response = (id, answer, style) =>
  [
    `Step by step: there are ${3 + (id % 17)} crates, of which ${2 + (id % 9)} are sold.`,
    `Each crate has ${4 + (id % 23)} mangoes${style % 2 === 0 ? ', so the crates that are left are multiplied by it' : ''}.`,
    `The answer is ${answer}.`,
  ].join(' ');

/** @type {Readonly<Record<string, { code: string, stem: string, base: number, gain: number, swap: number }>>} */
const known = {
  swahili: { code: 'sw', stem: 'swh', base: -1.2, gain: 0.25, swap: 0.45 },
  telugu: { code: 'te', stem: 'tel', base: -1.9, gain: 0.55, swap: 0.78 },
  bengali: { code: 'bn', stem: 'ben', base: -0.9, gain: 0.4, swap: 0.4 },
  japanese: { code: 'ja', stem: 'jpn', base: -0.6, gain: 0.35, swap: 0.12 },
};

/**
 * Constructs an experiment: three task experts, three language experts a language, and a default swap and a
 * soup of each pair. Languages in `gridOf` also get the 81 configurations of the paper's ranges.
 *
 * @param {{ languages?: readonly string[], gridOf?: readonly string[], alphas?: readonly number[], problems?:
 *   number, directory?: string | null, scored?: boolean }} options `alphas`: of merges base + α·τ
 * @returns {ScoredExperiment}
 */
export const constructedExperiment = ({
  languages = Object.keys(known),
  gridOf = ['swahili'],
  alphas = [],
  problems = 250,
  directory = null,
  scored = true,
} = {}) => {
  const random = seeded(20241002);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  /** @type {Record<string, { question: string, target: string }>} */
  const texts = {};
  const difficulty = new Map(
    languages.map((language) => [language, Array.from({ length: problems }, () => 1.6 * normal())]),
  );
  const factsOf = (/** @type {string} */ language) =>
    known[language] ?? { code: language, stem: language.slice(0, 3), base: -1, gain: 0.3, swap: 0.5 };
  const taskOf = (/** @type {string} */ language) => `mgsm_direct_${factsOf(language).code}`;
  for (const language of languages)
    for (let id = 0; id < problems; id++)
      texts[`${language}-${id}`] = { question: question(id, language), target: String(target(id)) };

  /** @param {string} model @param {string} language @param {number} ability @returns {EvaluationResult} */
  const resultOf = (model, language, ability) => {
    const hard = /** @type {number[]} */ (difficulty.get(language));
    const rows = hard.map((level, id) => {
      const right = random() < 1 / (1 + Math.exp(level - ability));
      const answer = right ? target(id) : target(id) + 1 + Math.floor(random() * 40);
      return {
        id,
        document: `${language}-${id}`,
        prompt: `prompt-${language}-${id}`,
        target: `target-${id}`,
        scores: { [metric]: right ? 1 : 0 },
        answers: { 'flexible-extract': String(answer) },
        response: response(id, answer, model.length),
      };
    });
    const mean = rows.reduce((sum, { scores }) => sum + (scores[metric] ?? 0), 0) / problems;
    return {
      layerloom: 'constructed',
      weights: `constructed-${model}`,
      task: taskOf(language),
      taskVersion: '3.0',
      promptHash: `constructed-${language}`,
      fewshot: 8,
      seed: '0,1234,1234,1234',
      rows: null,
      maxTokens: null,
      sampling: null,
      backend: 'constructed',
      model,
      harness: { name: 'lm-eval', version: '0.4.13' },
      metrics: {
        [metric]: mean,
        'exact_match_stderr,flexible-extract': Math.sqrt((mean * (1 - mean)) / (problems - 1)),
      },
      higherIsBetter: { exact_match: true },
      n: problems,
      problems: rows,
      texts: null,
      source: 'imported',
      started: '2000-01-01T00:00:00.000Z',
      seconds: 1,
    };
  };
  /**
   * @param {Partial<ScoredModel> & { name: string }} model
   * @param {readonly (readonly [language: string, ability: number])[]} abilities
   * @returns {ScoredModel}
   */
  const modelOf = (model, abilities) => ({
    role: 'merge',
    language: null,
    languages: [],
    task: null,
    languageExpert: null,
    method: null,
    entry: null,
    variant: null,
    configuration: {},
    path: null,
    ...model,
    results: new Map(
      scored
        ? abilities.map(([language, ability]) => [taskOf(language), resultOf(model.name, language, ability)])
        : [],
    ),
  });

  /** @type {ScoredModel[]} */
  const models = [];
  const baseOf = (/** @type {string} */ language) => factsOf(language).base;
  models.push(
    modelOf(
      { name: 'constructed-base', role: 'base', languages },
      languages.map((language) => [language, baseOf(language)]),
    ),
  );
  const tasks = [1, 2, 3].map((number) => ({ name: `math-${number}`, strength: 0.45 + 0.08 * number }));
  for (const { name, strength } of tasks)
    models.push(
      modelOf(
        { name, role: 'task', languages },
        languages.map((language) => [language, baseOf(language) + strength]),
      ),
    );
  for (const language of languages) {
    const { stem, gain, swap } = factsOf(language);
    const experts = [1, 2, 3].map((number) => ({
      name: `${stem}-${number}`,
      strength: gain + 0.06 * (number - 2),
    }));
    for (const { name, strength } of experts)
      models.push(
        modelOf({ name, role: 'language', languages: [language] }, [[language, baseOf(language) + strength]]),
      );
    for (const alpha of alphas) {
      const added = (
        /** @type {string} */ directory,
        /** @type {Pick<ScoredModel, 'language' | 'task' | 'languageExpert'>} */ experts,
        /** @type {readonly (readonly [language: string, gain: number])[]} */ gains,
      ) =>
        modelOf(
          {
            ...experts,
            ...{ name: `${directory}/alpha/l${alpha}`, path: `${directory}/alpha/l${alpha}` },
            ...{ method: 'task_arithmetic', entry: 'alpha', variant: `alpha/l${alpha}` },
            configuration: {
              lambda: alpha,
              normalize: false,
              weights: experts.task && experts.languageExpert ? [1, 1] : [1],
            },
          },
          // Gains grow less than α.
          gains.map(([of, gain]) => [of, baseOf(of) + gain * alpha * (1.4 - 0.4 * alpha)]),
        );
      for (const { name, strength } of language === languages[0] && alpha !== 1 ? tasks : [])
        models.push(
          added(
            `all/${name}`,
            { language: 'all', task: name, languageExpert: null },
            languages.map((of) => [of, strength]),
          ),
        );
      for (const { name, strength } of alpha === 1 ? [] : experts)
        models.push(
          added(`${language}/${name}`, { language, task: null, languageExpert: name }, [
            [language, strength],
          ]),
        );
      for (const task of tasks)
        for (const expert of experts)
          models.push(
            added(
              `${language}/${task.name}+${expert.name}`,
              { language, task: task.name, languageExpert: expert.name },
              [[language, 0.9 * (task.strength + expert.strength)]],
            ),
          );
    }
    for (const task of tasks)
      for (const expert of experts) {
        const pair = `${language}/${task.name}+${expert.name}`;
        const own = baseOf(language) + 0.8 * task.strength + 0.5 * expert.strength + 0.06 * normal();
        const shared = { language, task: task.name, languageExpert: expert.name };
        const swapOf = (
          /** @type {string} */ entry,
          /** @type {string} */ variant,
          /** @type {[b: number, u: number, tb: number, tu: number]} */ [b, u, tb, tu],
        ) =>
          modelOf(
            {
              ...shared,
              name: `${pair}/${variant}`,
              path: `${pair}/${variant}`,
              method: 'layer_swap',
              entry,
              variant,
              configuration: {
                bottom: b,
                top: u,
                bottomTransition: tb,
                topTransition: tu,
                weights: [1, 1],
                others: 'average',
                norms: 'layer',
                scaled: false,
              },
            },
            [
              [
                language,
                own + swap - 0.11 * Math.abs(b - 4) - 0.12 * Math.abs(u - 1) + 0.09 * tb - 0.04 * tu - 0.16,
              ],
            ],
          );
        models.push(swapOf('default', 'default', [5, 2, 0, 0]));
        models.push(
          modelOf(
            {
              ...shared,
              name: `${pair}/soup`,
              path: `${pair}/soup`,
              method: 'soup',
              entry: 'soup',
              variant: 'soup',
              configuration: { weights: [1, 1] },
            },
            [[language, own + 0.12]],
          ),
        );
        if (gridOf.includes(language))
          for (const b of [3, 4, 5])
            for (const u of [0, 1, 2])
              for (const tb of [0, 1, 2])
                for (const tu of [0, 1, 2])
                  models.push(swapOf('grid', `grid/b${b}-u${u}-tb${tb}-tu${tu}`, [b, u, tb, tu]));
      }
  }
  return {
    directory,
    languages,
    tasks: new Map(languages.map((language) => [language, [taskOf(language)]])),
    models,
    texts: scored ? texts : {},
    summaries: [],
    warnings: ['All figures of this page are constructed: no model was merged or scored.'],
  };
};

/**
 * Writes `experiment.json`, and the provenance of one merge, which gives the number of layers.
 *
 * @param {ScoredExperiment} experiment
 * @param {number} layers
 */
export const writeRecord = ({ directory, models }, layers = 32) => {
  if (directory === null) throw new Error('the experiment has no directory');
  const random = seeded(7);
  const merges = models
    .filter(({ role }) => role === 'merge')
    .map(({ name, language, task, languageExpert, method, configuration, path, entry }) => ({
      name,
      language,
      task,
      languageExpert,
      method,
      configuration,
      path,
      state: 'done',
      shards: { shared: 20, new: 14 },
      bytesRead: 0,
      bytesWritten: Math.round((entry === 'grid' ? 0.4 + 2 * random() : 5 + 3 * random()) * 1e9),
      seconds: Math.round(20 + 80 * random()),
    }));
  mkdirSync(directory, { recursive: true });
  writeFileSync(
    join(directory, 'experiment.json'),
    JSON.stringify({
      layerloom: 'constructed',
      state: 'done',
      experiment:
        '# constructed\nbase: ./constructed-base\nmerges:\n  - {name: default, method: layer_swap}\n',
      base: './constructed-base',
      store: '.store',
      merges,
      references: [],
      cost: {},
      bytesRead: 0,
      bytesWritten: 0,
      seconds: 0,
    }),
  );
  const [first] = merges;
  if (first?.path == null) return;
  mkdirSync(join(directory, first.path), { recursive: true });
  writeFileSync(join(directory, first.path, 'layerloom.json'), JSON.stringify({ architecture: { layers } }));
};
