import { usualScores } from '../../study/experiment/scoring/usual-scores.js';
import { argument, command } from '../framework/command.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { toBenchmarks } from '../options/benchmarks.js';
import { download, expect, inPlace, jobs, lmEval, modelWords } from '../options/common.js';
import { toWords } from '../options/parse.js';
import { numberOption } from '../options/usual-options.js';

export const evaluate = command({
  name: 'evaluate',
  group: 'experiments',
  summary: "score an experiment's models, or any models, with lm-evaluation-harness",
  arguments: {
    models: argument(
      '<dir...>',
      `the directory of a batch, also while it runs; or models to score on --tasks or --benchmarks, each ${modelWords}, BASE+ADAPTER or NAME=MODEL`,
    ),
  },
  options: {
    tasks: option('--tasks <names>', 'for models: tasks of lm_eval or layerloom, separated by commas', {
      parse: toWords,
    }),
    benchmarks: option('--benchmarks <names>', 'for models: benchmarks, separated by commas: mgsm,flores', {
      parse: toBenchmarks,
    }),
    languages: option('--lang <names>', 'for models: languages of the benchmarks, separated by commas', {
      parse: toWords,
      default: 'english',
    }),
    set: option(
      '--set <key=value...>',
      'for models: other settings of evaluate:, such as fewshot=8, device=cuda, data=./mgsm',
    ),
    out: option('-o, --out <dir>', 'for models: directory of results; later runs add to it', {
      default: usualScores,
      group: optionGroups.output,
    }),
    only: option('--only <pattern>', 'only models with this name; * stands for any text', {
      repeatable: true,
    }),
    part: option('--part <i/n>', 'score part i (from 0) of n of the models'),
    limit: numberOption('--limit <n>', 'score only the first problems of every task', "the experiment's"),
    force: option('--force', 'score again, even if there are scores'),
    import: option(
      '--import <dir>',
      'import results_*.json that lm_eval wrote elsewhere, or a directory of results of layerloom evaluate; run nothing',
    ),
    print: option('--print', 'print the commands, and run none'),
    dryRun: option('--dry-run', 'print what would be scored, and how long it would take; run nothing'),
    lmEval,
    jobs,
    expect,
    download: download('whole references that are not on this machine'),
    allowServe: option(
      '--allow-serve',
      'run the commands serve: and arguments: of a folder even if none of your batches made it',
      { group: optionGroups.running },
    ),
    inPlace: inPlace('also score merges that are not written, without writing them'),
    separate: option('--separate', 'start a process of lm_eval for each model, instead of one for all', {
      group: optionGroups.running,
    }),
    resume: option('--resume', 'if interrupted, keep the answers so far, and continue from them next time', {
      group: optionGroups.running,
    }),
  },
  examples: [
    ['layerloom evaluate ./study', 'score every model that has no scores yet'],
    ['layerloom evaluate ./study --dry-run', 'what would be scored, and how long it would take'],
    ["layerloom evaluate ./study --only 'swahili/*' --limit 20", 'a quick look at one language'],
    [
      'layerloom evaluate ./base ./merged --benchmarks mgsm --lang swahili',
      'score two models without an experiment, and compare them by problem',
    ],
    ['layerloom evaluate ./study --import ./results', 'import results from another machine'],
  ],
  run: async (given) => (await import('../work/studies/evaluate.js')).evaluateCommand(given),
});
