import type { Command } from 'commander';
import type { AnalyzeCliOptions } from './analyze.js';
import { addExamples, commandGroups, optionGroups, optionOf } from './help.js';
import type { InspectCliOptions } from './inspect.js';
import { addOutputOptions, downloadOption, modelWords, threadsOption, toNumber } from './options.js';

/** Adds `layerloom inspect`. */
export const addInspect = (program: Command): void => {
  const command = program
    .command('inspect')
    .helpGroup(commandGroups.looking)
    .description('show architecture, layers, dtypes, parameters, shards and sizes')
    .argument('<checkpoint>', modelWords)
    .addOption(downloadOption('the headers of a model that is not here'));
  addOutputOptions(command).action(async (model: string, options: InspectCliOptions) => {
    const { inspectCommand } = await import('./inspect.js');
    await inspectCommand(model, options);
  });
  addExamples(command, [
    ['layerloom inspect ./math-1', 'read the headers of a checkpoint'],
    ['layerloom inspect ./math-1/model.safetensors --json', 'one file, as JSON'],
    ['layerloom inspect ./math-lora', 'an adapter: ranks, scales and modules'],
  ]);
};

/** Adds `layerloom analyze`. */
export const addAnalyze = (program: Command): void => {
  const command = program
    .command('analyze')
    .helpGroup(commandGroups.looking)
    .description('show which layers and matrices fine-tuning changed: tables, pictures and a page')
    .argument('[expert...]', 'experts: each a model, or NAME=MODEL; not needed with --from')
    .addOption(
      optionOf('--base <model>', 'the model that the experts were fine-tuned from', {
        required: 'unless --from',
      }),
    )
    .addOption(
      optionOf('--from <file...>', 'NAME.mav.safetensors of earlier analyses, read instead of weights'),
    )
    .addOption(
      optionOf(
        '--threshold <t>',
        'rows whose MAV is above it count as changed; auto: what a third of the changed rows of the layers’ matrices exceed; NAME=T: of one expert',
        { repeatable: true, default: '1e-5' },
      ),
    )
    .addOption(
      optionOf('--rows <which>', 'rows are input or output features', {
        choices: ['input', 'output'],
        default: 'input',
      }),
    )
    .addOption(
      optionOf('--bottom <n>', 'number of first layers in the summary', { parse: toNumber, default: '5' }),
    )
    .addOption(
      optionOf('--top <n>', 'number of last layers in the summary', { parse: toNumber, default: '2' }),
    )
    .addOption(
      optionOf('--task <name>', 'an expert that swaps take as the task expert: says what they keep of it', {
        repeatable: true,
      }),
    )
    .addOption(optionOf('--lang <name>', 'the same of a language expert', { repeatable: true }))
    .addOption(optionOf('--compare <csv...>', 'published tables to draw beside the experts'))
    .addOption(
      optionOf('--allow-non-finite', 'leave out rows with a NaN or an infinity, instead of refusing them'),
    )
    .addOption(
      optionOf('-o, --out <dir>', 'directory for the files', { required: true, group: optionGroups.output }),
    )
    .addOption(downloadOption())
    .addOption(threadsOption());
  addOutputOptions(command).action(async (experts: string[], options: AnalyzeCliOptions) => {
    // Loaded on demand: other commands need no pages and pictures.
    const { analyzeCommand } = await import('./analyze.js');
    await analyzeCommand(experts, options);
  });
  addExamples(command, [
    [
      'layerloom analyze --base ./llama-3.1-8b ./math-1 ./swh-1 -o ./analysis',
      'compare two experts with their base',
    ],
    [
      'layerloom analyze --base ./llama-3.1-8b ./math-1 ./swh-1 --task math-1 --lang swh-1 -o ./analysis-roles',
      'say what a layer swap keeps of what each has learnt',
    ],
    [
      'layerloom analyze --base ./llama-3.1-8b ./math-1 ./swh-1 --threshold swh-1=1.9e-5 -o ./analysis-figure-2',
      'the paper’s Figure 2: 1e-5, and for its language expert 1.9e-5',
    ],
    [
      'layerloom analyze --from ./analysis/math-1.mav.safetensors --threshold auto -o ./analysis-auto',
      'draw an earlier analysis with another threshold, without reading weights',
    ],
  ]);
};
