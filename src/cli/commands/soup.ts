import {
  decayNames,
  defaultSettings,
  scheduleNames,
} from '../../core/methods/framework/declaration/schedules.js';
import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { analysis, modelWords } from '../options/common.js';
import { attestOption, formOptions, mergeOptions, saveOptions, tokenizer } from '../options/merging.js';
import { toWeights } from '../options/parse.js';
import { choiceOption, numberOption } from '../options/usual-options.js';
import { warn } from '../print.js';

export const soup = command({
  name: 'soup',
  group: 'merging',
  summary: 'average models, uniformly or with weights; or the checkpoints of a run (uniform, EMA, WSM)',
  arguments: {
    models: argument(
      '<model...>',
      `models: each ${modelWords}, or NAME=MODEL; with --schedule, the folder of a run, with checkpoint-N folders`,
    ),
  },
  options: {
    base: option(
      '--base <model>',
      'the model that all were fine-tuned from, for a check; required for --weights magnitude',
    ),
    weights: option('--weights <w,w,...>', 'one weight for each model, or magnitude: 1 / mean MAV of each', {
      parse: toWeights,
      default: 'all 1',
    }),
    schedule: option(
      '--schedule <name>',
      'average the checkpoints of a run: uniform, ema (exponential moving average) or wsm (warmup-stable-merge: weights that imitate a decay of the learning rate)',
      { choices: scheduleNames },
    ),
    decay: choiceOption(
      '--decay <name>',
      'with wsm: the decay that the weights imitate; linear gives uniform weights',
      decayNames,
      defaultSettings.decay,
    ),
    alpha: numberOption(
      '--alpha <share>',
      'with ema: the weight of each newer checkpoint, between 0 and 1',
      String(defaultSettings.alpha),
    ),
    window: numberOption('--window <k>', 'for a run: average its last k checkpoints', 'all'),
    until: numberOption('--until <step>', 'for a run: end at checkpoint-STEP', "the run's last"),
    analysis,
    ...saveOptions,
    ...formOptions,
    tokenizer: tokenizer(),
    ...attestOption,
    ...mergeOptions(),
  },
  examples: [
    ['layerloom soup ./math-1 ./math-2 ./math-3 -o ./math-soup', 'the average of three models'],
    ['layerloom soup ./math-1 ./math-2 --weights 2,1 -o ./math-soup-2-1', 'the first model counts twice'],
    [
      'layerloom soup ./run --schedule wsm --window 4 -o ./run-wsm',
      'four checkpoints of a run, as if its learning rate had decayed',
    ],
    [
      'layerloom soup ./math-lora ./swh-lora --as full --base ./llama-3.1-8b -o ./soup-full',
      'full weights from two bare LoRA adapters',
    ],
    [
      'layerloom soup ./math-lora ./swh-lora --rank 16 -o ./soup-rank-16',
      'an adapter whose averages have rank 16',
    ],
  ],
  run: async (given) => {
    await (await import('../work/merging/merge.js')).methodCommand('soup', given);
    const { models, schedule, as, rank, quiet } = given;
    // With --as or --rank, averaging a single adapter converts its form, so it is no mistake.
    if (models.length === 1 && [schedule, as, rank].every((one) => one === undefined) && !quiet)
      warn(`${models[0]} is the only model, so the output equals it`);
  },
});
