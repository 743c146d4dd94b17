import { paperCounts } from '../../core/methods/framework/counts.js';
import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { config, download, stack, threads } from '../options/common.js';
import { choiceOption, numberOption } from '../options/usual-options.js';

export const analyze = command({
  name: 'analyze',
  group: 'looking',
  summary: 'show which layers and matrices fine-tuning changed: tables, pictures and a page',
  arguments: {
    experts: argument(
      '[expert...]',
      'experts: each a model, or NAME=MODEL; not needed if --task, --lang or --from name them all',
    ),
  },
  options: {
    base: option('--base <model>', 'the model that the experts were fine-tuned from', {
      required: 'unless --from',
    }),
    from: option('--from <file...>', 'NAME.mav.safetensors of earlier analyses, read instead of weights'),
    thresholds: option(
      '--threshold <t>',
      'rows with a MAV above this count as changed; auto: the MAV that one third of the changed rows in layers are above; NAME=T: only for this expert',
      { repeatable: true, default: '1e-5' },
    ),
    rows: choiceOption('--rows <which>', 'rows are input or output features', ['input', 'output'], 'input'),
    bottom: numberOption('--bottom <n>', 'number of first layers in the summary', String(paperCounts.bottom)),
    top: numberOption('--top <n>', 'number of last layers in the summary', String(paperCounts.top)),
    task: option(
      '--task <expert>',
      'a task expert, as in swap: a model, or the name of an expert; with --lang, proposes the layers to swap',
      { repeatable: true },
    ),
    language: option('--lang <expert>', 'a language expert: a model, or the name of an expert', {
      repeatable: true,
    }),
    topShare: numberOption(
      '--top-share <s>',
      'also compare the largest changes of each pair: the rows of each matrix, this share of them, that changed most (0.1)',
    ),
    compare: option('--compare <csv...>', 'published tables to draw beside the experts'),
    stack,
    config,
    allowNonFinite: option('--allow-non-finite', 'skip rows with NaN or infinity, instead of refusing them'),
    out: option('-o, --out <dir>', 'directory for the files', { required: true, group: optionGroups.output }),
    download: download(),
    threads,
  },
  examples: [
    [
      'layerloom analyze --base ./llama-3.1-8b ./math-1 ./swh-1 -o ./analysis',
      'compare two experts with their base',
    ],
    [
      'layerloom analyze --base ./llama-3.1-8b --task ./math-1 --lang ./swh-1 -o ./analysis-roles',
      'show how much of each expert’s changes a layer swap keeps',
    ],
    [
      'layerloom analyze --base ./llama-3.1-8b ./math-1 ./swh-1 --threshold swh-1=1.9e-5 -o ./analysis-figure-2',
      'the thresholds of the paper’s Figure 2: 1e-5, and 1.9e-5 for the language expert',
    ],
    [
      'layerloom analyze --base ./llama-3.1-8b ./math-1 ./swh-1 --top-share 0.1 -o ./analysis-top',
      'how many of the most changed rows are the same in both experts',
    ],
    [
      'layerloom analyze --from ./analysis/math-1.mav.safetensors --threshold auto -o ./analysis-auto',
      'draw an earlier analysis with another threshold, without reading weights',
    ],
  ],
  run: async (given) => (await import('../work/models/analyze.js')).analyzeCommand(given),
});
