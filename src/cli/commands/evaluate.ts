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
      `the directory of a batch, also while it still runs; or models to measure by --tasks or --benchmarks, each ${modelWords}, BASE+ADAPTER or NAME=MODEL`,
    ),
  },
  options: {
    tasks: option('--tasks <names>', 'of models: tasks of lm_eval or of layerloom, with commas', {
      parse: toWords,
    }),
    benchmarks: option('--benchmarks <names>', 'of models: what to measure, with commas: mgsm,flores', {
      parse: toBenchmarks,
    }),
    languages: option('--lang <names>', 'of models: languages of the benchmarks, with commas', {
      parse: toWords,
      default: 'english',
    }),
    set: option(
      '--set <key=value...>',
      'of models: other settings of evaluate:, such as fewshot=8, device=cuda, data=./mgsm',
    ),
    out: option('-o, --out <dir>', 'of models: directory of the results, which later runs add to', {
      default: usualScores,
      group: optionGroups.output,
    }),
    only: option('--only <pattern>', 'only models of this name; * stands for any text', { repeatable: true }),
    part: option('--part <i/n>', 'score part i (from 0) of n of the models'),
    limit: numberOption('--limit <n>', 'score only the first problems of every task', "the experiment's"),
    force: option('--force', 'score again what has scores'),
    import: option(
      '--import <dir>',
      'take results_*.json that lm_eval wrote elsewhere, or the scores of models alone, and run nothing',
    ),
    print: option('--print', 'print the commands that would run, and run none'),
    dryRun: option('--dry-run', 'print what would be scored and how long it takes, and run nothing'),
    lmEval,
    jobs,
    expect,
    download: download('references that are not here, whole,'),
    allowServe: option(
      '--allow-serve',
      'run serve: and arguments: of a folder that no batch of yours has made',
      { group: optionGroups.running },
    ),
    inPlace: inPlace('score merges that are not written too, without writing them'),
    separate: option('--separate', 'a process of lm_eval for each model, not one for all', {
      group: optionGroups.running,
    }),
    resume: option('--resume', 'keep the answers of a model that is interrupted, and continue from them', {
      group: optionGroups.running,
    }),
  },
  examples: [
    ['layerloom evaluate ./study', 'score every model that has no scores yet'],
    ['layerloom evaluate ./study --dry-run', 'what is to be scored, and the hours that it takes'],
    ["layerloom evaluate ./study --only 'swahili/*' --limit 20", 'a quick look at one language'],
    [
      'layerloom evaluate ./base ./merged --benchmarks mgsm --lang swahili',
      'score two models without an experiment, and compare them problem by problem',
    ],
    ['layerloom evaluate ./study --import ./results', 'take results that were computed on another machine'],
  ],
  run: async (given) => (await import('../work/studies/evaluate.js')).evaluateCommand(given),
});
