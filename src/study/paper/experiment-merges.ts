import type { EvaluationChoices } from './experiment-evaluation.js';

export interface PresetExperts {
  readonly tasks: readonly string[];
  readonly languages: readonly string[];
}

export interface Preset {
  readonly title: string;
  /** Entries under `merges`, indented by two; empty if the experiment only scores models. */
  readonly merges: string | ((experts: PresetExperts) => string);
  /** Comment to write if the preset has no references. */
  readonly references?: string;
  readonly evaluation?: EvaluationChoices;
  /** Further lines of `evaluate:`. */
  readonly scoring?: string;
}

/** 81 configurations in §4.2's ranges, as YAML. */
const grid = `\
  - name: grid
    method: layer_swap
    bottom: [3, 4, 5]
    top: [0, 1, 2]
    bottom_transition: [0, 1, 2]
    top_transition: [0, 1, 2]`;

const gridOfBothWeights = `${grid}\n    weights: [uniform, magnitude]`;

/** Expert with its first 5 and last 2 layers reverted (§3.3). */
const revertedLayers = 'method: revert, model: task, bottom: 5, top: 2';

const frozen = '-frozen';

const middle = `\
  # Layers 13 to 22 of 36 (Qwen3-8B) from the task expert, an English reasoner; all else is the language expert's, what is
  # outside the layers too. For another number of layers: 13 / 36 and 23 / 36 of it.
  - name: middle
    method: layer_swap
    parts:
      - {model: task, layers: 13-22}
      - {model: language, layers: rest}`;

const modularMerges = ({ tasks, languages }: PresetExperts): string => {
  const named = (names: readonly string[], isFrozen: boolean) =>
    `[${names
      .filter((name) => name.endsWith(frozen) === isFrozen)
      .map((name) => JSON.stringify(name))
      .join(', ')}]`;
  const entry = (name: string, isFrozen: boolean, further: string): string =>
    [
      `  - name: ${name}`,
      '    method: layer_swap',
      `    task: ${named(tasks, isFrozen)}`,
      `    language: ${named(languages, isFrozen)}`,
      ...(further === '' ? [] : [`    ${further}`]),
    ].join('\n');
  const partition = 'partition: ./parts/partition.json';
  const hasFrozen = [tasks, languages].every((names) => names.some((name) => name.endsWith(frozen)));
  const freeze = entry('freeze-then-train', true, partition);
  return `\
  # Layer swapping of experts that were trained whole.
${entry('layer-swapping', false, '')}
  # Train-then-revert: the same experts, of each the part that the partition gives it.
${entry('train-then-revert', false, partition)}
  # Freeze-then-train: experts that trained their part alone (the way freeze), with names that end in -frozen.
${hasFrozen ? freeze : freeze.replace(/^ {2}/gm, '  # ')}`;
};

export const presets = {
  smoke: {
    title: 'What to run first: two merges a pair, a few problems, short answers, on the processor.',
    // On a CPU, eight examples would take most of the time.
    evaluation: { limit: 10, maxTokens: 16, fewshot: 1, device: 'cpu', batchSize: 10 },
    merges: `\
  # The paper's default (§4.2), and the average of both experts (§5).
  - {name: default, method: layer_swap}
  - {name: soup, method: soup}`,
  },
  paper: {
    title:
      'What the layer-swapping paper compares (arXiv 2410.01335): swaps, soups, TIES, reverted experts, and swaps of soups.',
    evaluation: { averagesAll: true },
    references: `\
# Joint SFT on math and a language (Table 2: Swahili), three runs: scored, never merged.
# references:
#   joint-1: {model: ./joint-1, role: joint, languages: swahili}
#   joint-2: {model: ./joint-2, role: joint, languages: swahili}
#   joint-3: {model: ./joint-3, role: joint, languages: swahili}`,
    merges: `\
  # The paper's default (§4.2): 5 bottom and 2 top layers of the language expert, no transition.
  - {name: default, method: layer_swap}
  # The paper's ranges (§4.2), for "swap, best": 3 x 3 x 3 x 3 configurations a pair, each with equal weights and with
  # 1 / mean MAV of each expert's task vector. Writing them costs little, since they share their shards (the default is
  # one of them, and takes no space twice). Scoring costs the same for each: to score fewer, drop values, or name some
  # experts here, as in language: [swh-1, swh-2].
${gridOfBothWeights}
  # The default, with averages weighted by 1 / mean MAV of each expert's task vector.
  - {name: magnitude, method: layer_swap, weights: magnitude}
  # Model soups (§5); the paper reports the better of the two for each language. A soup, as a TIES merge, shares
  # no layer with others: each takes the space of a whole model.
  - {name: soup, method: soup, weights: [uniform, magnitude]}
  # TIES (§5; the paper: Swahili alone), as mergekit computes it and as its authors do. Two densities to choose from.
  - {name: ties, method: ties, dialect: [mergekit, paper], density: [0.2, 0.5]}
  # The task experts with their first 5 and last 2 layers put back to the base (§3.3). The default swap takes those
  # layers from the language expert: swapped into the reverted expert, it is the default itself.
  - {name: reverted, ${revertedLayers}}
  # The same by rows: those of the smallest changes, a fifth of the parameters, are put back.
  - {name: reverted-rows, method: revert, model: task, target_kept: 0.8}
  # Table 6: the soup of a language's experts with the soup of the task experts, one merge a language ...
  - {name: soup-of-each, method: layer_swap, task: soup, language: soup}
  # ... and the soup of every language's experts, one merge for all of them.
  - {name: multilingual, method: layer_swap, task: soup, language: all-soup}`,
  },
  'figure-3-max': {
    title: "The largest swap of the paper's Fig. 3: the upper ends of §4.2's ranges.",
    merges: `\
  # 5 bottom and 2 top layers of the language expert, and 2 averaged layers next to each.
  - {name: largest, method: layer_swap, bottom: 5, top: 2, bottom_transition: 2, top_transition: 2}`,
  },
  'figure-3-min': {
    title: "The smallest swap of the paper's Fig. 3: the lower ends of §4.2's ranges.",
    merges: `\
  # 3 bottom layers of the language expert, no top layer, no transition.
  - {name: smallest, method: layer_swap, bottom: 3, top: 0, bottom_transition: 0, top_transition: 0}
  # "No upper layers directly from the language expert" may also mean that the last ones are averages.
  - {name: averaged-top, method: layer_swap, bottom: 3, top: 0, bottom_transition: 0, top_transition: [1, 2]}`,
  },
  ablation: {
    title: 'The ablation plan: other numbers of layers, and the transition zones removed.',
    merges: `\
  # First table: layers of the language expert, [bottom, top], without transition.
  - {name: layers, method: layer_swap, layers: [[0, 0], [3, 1], [5, 2], [8, 4]]}
  # The same rows with the plan's own transition, one averaged layer on either side (the paper's default is 0/0).
  # Second table, the transition removed: layers-transition/b5-u2 against layers/b5-u2.
  - name: layers-transition
    method: layer_swap
    layers: [[0, 0], [3, 1], [5, 2], [8, 4]]
    bottom_transition: 1
    top_transition: 1`,
  },
  choices: {
    title: 'The other choices of layer swapping, one changed at a time from the default.',
    merges: `\
  # The paper's default (§4.2): others are averaged, norms follow their layer, weights are equal.
  - {name: default, method: layer_swap}
  # The tensors outside the layers (embeddings, final norm, head) of one expert.
  - {name: others, method: layer_swap, others: [task, language]}
  # Norms inside a layer averaged, as Algorithm 1 reads literally.
  - {name: norms, method: layer_swap, norms: average}
  # Averages weighted by 1 / mean MAV of each expert's task vector.
  - {name: weights, method: layer_swap, weights: magnitude}`,
  },
  sparsify: {
    title: 'Task experts with a part of their changes put back to the base (§3.3).',
    merges: `\
  # By rows: those of the smallest changes are put back, so that this share of the parameters stays. 1.0 is the
  # expert itself. The paper: more than 70-80 % had to stay to keep the gain.
  - {name: rows, method: revert, model: task, target_kept: [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]}
  # By location: the first 5 and last 2 layers.
  - {name: location, ${revertedLayers}}
  # To swap layers into one of them, name its directory under tasks of another experiment:
  # math-1-rows: DIR/all/math-1/rows/target-kept-0.8`,
  },
  alpha: {
    title: 'Linearity of task vectors: base + α·τ of each expert, and of the two of a pair together.',
    merges: `\
  # α is the method's lambda. At 0 this is the base, and at 1 the expert itself: both are scored as references.
  - {name: alone, method: task_arithmetic, model: [task, language], lambda: [0.25, 0.5, 0.75, 1.25, 1.5]}
  # base + α·(τ_task + τ_language). Of gains that add up, those at α = 1 are the sum of the experts' own.
  - {name: both, method: task_arithmetic, lambda: [0.25, 0.5, 0.75, 1, 1.25, 1.5]}`,
  },
  modular: {
    title:
      "The follow-up's ways (arXiv 2505.18356) over experts that were trained for them, by one partition.",
    merges: modularMerges,
    references: `\
# Ways that leave a model as it is, and the baselines: scored, never merged.
# references:
#   simultaneous: {model: ./simultaneous, role: simultaneous}
#   mixed-data: {model: ./joint, role: joint}
#   math-only: {model: ./math-only, role: math-sft}`,
  },
  middle: {
    title:
      'The middle layers of a task expert in a language expert (arXiv 2605.26735), beside the default swap.',
    merges: `${middle}
  # The paper's default (arXiv 2410.01335, §4.2), and the average of both experts.
  - {name: default, method: layer_swap}
  - {name: soup, method: soup}`,
  },
  reasoning: {
    title:
      'The middle layers of an English reasoner in native experts, by sampled answers (arXiv 2605.26735).',
    merges: `${middle}
  # The average of both experts.
  - {name: soup, method: soup}`,
    evaluation: { fewshot: 0, maxTokens: 8192 },
    scoring: `\
  # Ten answers to each problem, drawn by other seeds; tables have means and standard deviations over these runs.
  # 30 runs of AIME, in English: add aime25 to the tasks, and 30 for it here. Temperature and top_p are ours.
  sampling: {temperature: 0.6, top_p: 0.95}
  repeats: 10
  # Reasoners answer chats.
  # arguments: [--apply_chat_template]`,
  },
  buffer: {
    title: 'Do longer runs need transition layers (§4.2)? Task experts are checkpoints of one run.',
    merges: `\
  # Name the run's checkpoints under tasks, such as math-5k: ./run/checkpoint-5000. Averaged layers on either side:
  - {name: none, method: layer_swap}
  - {name: one, method: layer_swap, bottom_transition: 1, top_transition: 1}
  - {name: two, method: layer_swap, bottom_transition: 2, top_transition: 2}`,
  },
  levels: {
    title: 'Merging by layers, by whole models and by single weights (§6).',
    merges: `\
  - {name: layers, method: layer_swap}
  - {name: models, method: soup, weights: [uniform, magnitude]}
  - {name: weights, method: [ties, dare_ties], density: 0.5}`,
  },
  checkpoints: {
    title: 'Scores of models alone, without merges: checkpoints of training runs, to choose from.',
    evaluation: { averagesAll: true },
    merges: '',
  },
  grid: {
    title: "Layer swapping over the paper's whole range (§4.2): 81 configurations a pair.",
    merges: `\
  # 3 x 3 x 3 x 3 configurations. weights: [uniform, magnitude] makes it twice as many.
${grid}`,
  },
} as const satisfies Readonly<Record<string, Preset>>;

/** Names of presets. */
export type PresetName = keyof typeof presets;

export const isPresetName = (name: string): name is PresetName => Object.hasOwn(presets, name);

export const presetNames: readonly PresetName[] = Object.keys(presets).filter(isPresetName);
