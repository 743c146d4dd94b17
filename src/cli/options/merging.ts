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
    `vocabulary of the output if those of the models differ: auto, the union if every shared token has the same id in all models; strict, an error; union; base${ofModels}`,
    { default: default_, group: output },
  );

export const formOptions = {
  as: option(
    '--as <form>',
    'write a LoRA adapter, or full weights; bare adapters then need a base, from --base or as they name it',
    { choices: outputForms, default: 'an adapter if all models are bare adapters', group: output },
  ),
  rank: numberOption(
    '--rank <r>',
    'truncate the adapter to this rank, and report the errors; required for TIES, DARE and similar methods',
    'exact, with the sum of all ranks',
    output,
  ),
};

export const saveOptions = {
  config,
  chatTemplate: option(
    '--chat-template <template>',
    `chat template of the output: auto (the most frequent one of the models), a format (${chatTemplateNames.slice(1).join(', ')}), or a file`,
    { default: "the recipe's, or that of the model that gives the tokenizer", group: output },
  ),
  experts: option(
    '--experts <form>',
    'form of the experts of mixtures: fused in one parameter per layer, or separate',
    {
      choices: expertLayouts,
      parse: toOneOf('experts', expertLayouts),
      default: "the recipe's, or the first model's",
      group: output,
    },
  ),
  quantize: option(
    '--quantise <scheme>',
    'quantise the matrices of the output, and measure how much of the change from the base remains',
    {
      choices: writtenNames,
      parse: toOneOf('quantize', writtenNames),
      default: "the recipe's, or none",
      group: output,
    },
  ),
  saveRecipe: option(
    '--save-recipe <file>',
    'write the recipe of this merge; values computed from the models become numbers',
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
    'write layerloom.intoto.jsonl, a statement of weights, recipe and inputs; implies --checksums',
    { group: output },
  ),
};

export const mergeOptions = ({
  outRequired = 'unless --dry-run',
  link = 'reflink if the file system supports it, else copy',
}: MergeOptionFacts = {}) => ({
  out: option('-o, --out <dir>', 'directory to create', { required: outRequired, group: output }),
  layout: option('--layout <layout>', 'shards of the output: one per layer, or up to the maximum size', {
    choices: layouts,
    parse: toOneOf('layout', layouts),
    default: "the recipe's, or layer",
    group: output,
  }),
  maxShardSize: option('--max-shard-size <size>', 'maximum size of the tensors in a shard: 5GB, 500MB', {
    parse: toShardSize,
    default: "the recipe's, or 5GB",
    group: output,
  }),
  dtype: option('--dtype <dtype>', 'convert every floating-point tensor to this dtype', {
    choices: arithmeticDtypes.map(torchName),
    default: "each tensor's own",
    group: output,
  }),
  link: option('--link <how>', 'how to share a shard that equals a whole input file, instead of writing it', {
    choices: links,
    parse: toOneOf('link', links),
    default: link,
    group: output,
  }),
  checksums: option('--checksums', 'record the SHA-256 of inputs and shards', { group: output }),
  allowNonFinite,
  force: option('--force', 'replace an output that layerloom wrote', { group: output }),
  resume: option('--resume', 'if interrupted, keep finished work and continue from it next time', {
    group: running,
  }),
  download: download(),
  threads,
  dryRun: option('--dry-run', 'print the plan and write nothing', { group: running }),
});
