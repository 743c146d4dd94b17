import { links } from '../../core/engine/output/link.js';
import { layouts } from '../../core/models/checkpoint/layouts.js';
import { expertLayouts } from '../../core/models/experts/layouts.js';
import { writtenNames } from '../../core/models/quantisation/quantising.js';
import { chatTemplateNames } from '../../core/models/tokenizer/chat-templates/chat-template.js';
import { outputForms } from '../../core/plan/compile/adapters/output-forms.js';
import { arithmeticDtypes, torchName } from '../../core/tensor/dtype.js';
import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';
import { allowNonFinite, config, download, threads } from './common.js';
import { toOneOf, toShardSize } from './parse.js';
import { numberOption } from './usual-options.js';

const { output, running } = optionGroups;

export const tokenizer = (default_ = 'auto', ofModels = '; or one of the models') =>
  option(
    '--tokenizer <which>',
    `vocabulary of the output where the models differ in theirs: auto, the union where shared tokens have one id; strict, an error; union; base${ofModels}`,
    { default: default_, group: output },
  );

export const formOptions = {
  as: option(
    '--as <form>',
    'write a LoRA adapter, or full weights: of bare adapters, whose base is --base or what they name',
    { choices: outputForms, default: 'an adapter where all models are bare adapters', group: output },
  ),
  rank: numberOption(
    '--rank <r>',
    'of an adapter: truncate averages of products, and changes by TIES, DARE and the like, to this rank, and report their errors',
    'exact, of the rank that all have together',
    output,
  ),
};

export const saveOptions = {
  config,
  chatTemplate: option(
    '--chat-template <template>',
    `chat template of the output: auto (the one that most models have), a format (${chatTemplateNames.slice(1).join(', ')}) or the file of a template`,
    { default: "the recipe's, or that of the tokenizer's model", group: output },
  ),
  experts: option(
    '--experts <form>',
    'experts of mixtures: those of a layer fused in one parameter, or each by itself',
    {
      choices: expertLayouts,
      parse: toOneOf('experts', expertLayouts),
      default: "the recipe's, or the first model's",
      group: output,
    },
  ),
  quantize: option(
    '--quantise <scheme>',
    'quantise the matrices of the output, and measure how much of the change from the base is left',
    {
      choices: writtenNames,
      parse: toOneOf('quantize', writtenNames),
      default: "the recipe's, or not",
      group: output,
    },
  ),
  saveRecipe: option(
    '--save-recipe <file>',
    'write the recipe of this merge, with what was found from the models as numbers',
    { group: output },
  ),
};

interface MergeOptionFacts {
  /** Options that may replace `--out`, in words. */
  readonly outRequired?: string;
  readonly link?: string;
}

export const attestOption = {
  attest: option(
    '--attest',
    'write layerloom.intoto.jsonl, a statement of weights, recipe and inputs, with --checksums',
    { group: output },
  ),
};

export const mergeOptions = ({
  outRequired = 'unless --dry-run',
  link = 'reflink if the file system can, else copy',
}: MergeOptionFacts = {}) => ({
  out: option('-o, --out <dir>', 'directory to create', { required: outRequired, group: output }),
  layout: option('--layout <layout>', 'shards of the output: one per layer, or of up to the maximum size', {
    choices: layouts,
    parse: toOneOf('layout', layouts),
    default: "the recipe's, or layer",
    group: output,
  }),
  maxShardSize: option('--max-shard-size <size>', 'maximum tensor data in a shard: 5GB, 500MB', {
    parse: toShardSize,
    default: "the recipe's, or 5GB",
    group: output,
  }),
  dtype: option('--dtype <dtype>', 'convert every floating tensor to this dtype', {
    choices: arithmeticDtypes.map(torchName),
    default: "each tensor's own",
    group: output,
  }),
  link: option(
    '--link <how>',
    'make shards that equal whole input files in this way, instead of writing them',
    { choices: links, parse: toOneOf('link', links), default: link, group: output },
  ),
  checksums: option('--checksums', 'record the SHA-256 of inputs and shards', { group: output }),
  allowNonFinite,
  force: option('--force', 'replace an output that layerloom wrote', { group: output }),
  resume: option('--resume', 'keep finished work when interrupted, and continue from it next time', {
    group: running,
  }),
  download: download(),
  threads,
  dryRun: option('--dry-run', 'print the plan and write nothing', { group: running }),
});
