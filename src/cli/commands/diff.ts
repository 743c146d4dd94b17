import { quantisingNames } from '../../core/models/quantisation/quantising.js';
import { argument, command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { config, download, modelWords, threads } from '../options/common.js';
import { toOneOf } from '../options/parse.js';

export const diff = command({
  name: 'diff',
  group: 'looking',
  summary: 'show which tensors of two models differ, and by how much',
  arguments: {
    a: argument('<a>', `${modelWords}, or NAME=MODEL`),
    b: argument('<b>', 'the model to compare with it'),
  },
  options: {
    only: option('--only <pattern>', 'compare only tensors whose names match: "*.mlp.*"'),
    all: option('--all', 'list every tensor, also equal ones'),
    out: option('-o, --out <file>', 'write a page (.html), a picture (.svg) or a table (.csv)'),
    force: option('--force', 'replace that file'),
    quantizeReport: option(
      '--quantise-report <scheme>',
      'measure how much of the change from a to b remains after quantising both',
      { choices: quantisingNames, parse: toOneOf('quantize-report', quantisingNames) },
    ),
    weightsOnly: option('--weights-only', 'compare only tensors, not side files'),
    exitCode: option('--exit-code', 'exit with 1 if weights or side files differ, like git diff'),
    config,
    download: download(),
    threads,
  },
  examples: [
    ['layerloom diff ./math-1 ./merged', 'which layers of ./merged differ from ./math-1'],
    ['layerloom diff ./old ./new --exit-code -q', 'for scripts: exits with 0 if every bit is equal'],
    ['layerloom diff ./llama-3.1-8b ./math-1 -o math-1.html', 'a page with every tensor'],
    [
      'layerloom diff ./llama-3.1-8b ./merged --quantise-report mxfp4',
      'how much of the change remains in four bits',
    ],
  ],
  run: async (given) => (await import('../work/models/diff.js')).diffCommand(given),
});
