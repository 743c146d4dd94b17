import { benchmarkNames, benchmarks } from '../../study/evaluation/data/benchmarks.js';
import { presetNames, presets } from '../../study/paper/experiment-merges.js';
import { command, commandOfCommands } from '../framework/command.js';
import { helpList, optionGroups, printsByDefault } from '../framework/help.js';
import { option } from '../framework/option.js';
import { toBenchmarks } from '../options/benchmarks.js';
import { numberOption } from '../options/usual-options.js';
import { kubernetes } from './kubernetes.js';
import { slurm } from './slurm.js';
import { snakemake } from './snakemake.js';

const init = command({
  name: 'init',
  summary: 'write an experiment file for you to edit',
  options: {
    preset: option('--preset <preset>', 'the merges to make; see below', {
      required: true,
      choices: presetNames,
    }),
    base: option('--base <model>', 'the model that all experts were fine-tuned from'),
    tasks: option('--task <name=dir...>', 'task experts'),
    languages: option('--lang <lang:name=dir...>', 'language experts'),
    training: option(
      '--training <dir...>',
      'directories of layerloom train init: take the base and all usable checkpoints',
    ),
    selection: option('--selection <file>', 'file of layerloom select: take the base and the chosen experts'),
    benchmarks: option('--benchmarks <names>', 'benchmarks, separated by commas: mgsm,flores; see below', {
      default: 'mgsm',
      parse: toBenchmarks,
    }),
    data: option('--data <dir>', 'directory of local data', { default: 'the hub' }),
    limit: numberOption('--limit <n>', 'number of problems to score in each task, from the first'),
    problems: option(
      '--problems <first-last>',
      'rows of each task that may be scored, such as 200-249: those on which no expert was trained',
    ),
    maxTokens: numberOption('--max-tokens <n>', 'maximum number of tokens in an answer'),
    out: option('-o, --out <file>', 'file to create', {
      default: printsByDefault,
      group: optionGroups.output,
    }),
  },
  notes: (command) =>
    [
      helpList(
        command,
        'Presets:',
        presetNames.map((name) => [name, presets[name].title]),
      ),
      helpList(command, 'Benchmarks:', [
        ...benchmarkNames.map((name): [string, string] => [
          name,
          `${benchmarks[name].title}: ${benchmarks[name].measures}`,
        ]),
        ['all', 'those of the paper'],
      ]),
    ].join('\n'),
  examples: [
    [
      'layerloom experiment init --preset checkpoints --training ./train-math ./train-swh -o checkpoints.yaml',
      'score the checkpoints of training runs',
    ],
    [
      'layerloom experiment init --preset paper',
      "print the paper's comparisons, with placeholders for models",
    ],
    [
      'layerloom experiment init --preset grid --base ./llama-3.1-8b --task ./math-1 ./math-2 --lang swahili:./swh-1 -o study.yaml',
      'write a file for two task experts and one language expert',
    ],
  ],
  run: async (given) => (await import('../work/studies/experiment.js')).experimentInitCommand(given),
});

export const experiment = commandOfCommands({
  name: 'experiment',
  group: 'experiments',
  summary: 'write experiment files, and jobs that run them',
  commands: [init, slurm, snakemake, kubernetes],
  examples: [
    ['layerloom experiment init --preset paper -o study.yaml', "write the paper's comparisons to a file"],
    ['layerloom experiment slurm study.yaml > submit.sh', 'print a script that submits them to SLURM'],
  ],
});
