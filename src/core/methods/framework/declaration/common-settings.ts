import * as z from 'zod';
import { setting } from '../../../base/errors/setting.js';
import { layouts } from '../../../models/checkpoint/layouts.js';
import { expertLayouts } from '../../../models/experts/layouts.js';
import { writtenNames } from '../../../models/quantisation/quantising.js';
import {
  chatTemplateNames,
  chatTemplateOf,
  chatTemplateWords,
} from '../../../models/tokenizer/chat-templates/chat-template.js';
import {
  arithmeticDtypes,
  type DtypeName,
  dtypeNames,
  parseDtype,
  torchName,
} from '../../../tensor/dtype.js';

const mostRank = 4096;

/** Makes a JSON Schema pattern for a name in any case; such patterns have no flag for it. */
const anyCase = (name: string): string =>
  name.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);

/** Accepts every spelling of a floating-point dtype; completion offers the shortest. */
export const dtypeSchema = z
  .custom<DtypeName>((value) => typeof value === 'string' && parseDtype(value) !== undefined)
  .meta({
    anyOf: [
      { enum: dtypeNames },
      {
        type: 'string',
        pattern: `^([Tt][Oo][Rr][Cc][Hh]\\.)?(${dtypeNames.map(anyCase).join('|')})$`,
      },
    ],
  });

export const dtypeWords = {
  expected: `one of ${arithmeticDtypes.map(torchName).join(', ')}`,
  names: dtypeNames,
};

/** A shard size, whose unit is checked when shards are laid out. */
const sizeSchema = z
  .custom<string | number>((value) => typeof value === 'string' || typeof value === 'number')
  .meta({
    anyOf: [
      { type: 'string', minLength: 1 },
      { type: 'integer', minimum: 1 },
    ],
  });

/** Settings of top-level recipes and experiments. */
export const layoutSettings = {
  layout: setting(z.enum(layouts).optional(), {
    meaning:
      'Shards of the output: `layer`, one for each layer, or `size`, as full as `max_shard_size` allows. `--layout` overrides it.',
    otherwise: '`layer`',
  }),
  maxShardSize: setting(sizeSchema.optional(), {
    meaning:
      'Maximum size of the tensors in a shard: `5GB`, `500MB`, or bytes. `--max-shard-size` overrides it.',
    expected: 'a size such as 5GB or 500MB',
    otherwise: '`5GB`',
  }),
};

/** Settings of all recipes, including nested ones. */
export const commonSettings = z.strictObject({
  dtype: setting(dtypeSchema.optional(), {
    meaning: 'The floating dtype of the output: every floating tensor is converted, copied ones too.',
    ...dtypeWords,
    otherwise: "each tensor's in the first model",
  }),
  outDtype: setting(dtypeSchema.optional(), {
    meaning: 'The same as `dtype`, which it overrides.',
    ...dtypeWords,
  }),
  chatTemplate: setting(
    z
      .custom<string>((value) => chatTemplateOf(value) !== undefined)
      .meta({ type: 'string', minLength: 1 })
      .optional(),
    {
      meaning: `The [chat template](#chat-templates): ${chatTemplateWords}.`,
      expected: chatTemplateWords,
      names: chatTemplateNames,
      otherwise: "that of the tokenizer's model",
    },
  ),
  stack: setting(z.string().min(1).optional(), {
    meaning:
      'The stack of layers in models that have several ([families](families.md)): `encoder`, `decoder`, or the prefix of the numbers, such as `transformer_blocks`. Other stacks count as outside the layers.',
    expected: 'the name of a stack, such as encoder or decoder',
    otherwise: 'the only one',
  }),
});

/** Settings of top-level recipes only. */
export const outputSettings = z.strictObject({
  config: setting(z.string().min(1).optional(), {
    meaning:
      'A directory with `config.json` and tokenizer, or a `config.json`, for models that have none, such as checkpoints of trainers. `--config` overrides it.',
    expected: 'a directory with config.json, or that file',
    otherwise: 'none',
  }),
  as: setting(z.enum(['adapter', 'full']).optional(), {
    meaning: 'The form of the output: a LoRA adapter, or full weights. `--as` overrides it.',
    otherwise: 'an adapter if all models are bare adapters',
  }),
  rank: setting(z.int().min(1).max(mostRank).optional(), {
    meaning:
      'Highest rank of averaged products in an adapter; TIES, DARE and the like need it. Products of a higher rank are truncated; copies keep their rank.',
    expected: `a whole number from 1 to ${mostRank}`,
    otherwise: 'the sum of ranks',
  }),
  allowNonFinite: setting(z.boolean().optional(), {
    meaning:
      'Compute with values that are NaN or infinite, instead of refusing them. Copies are never checked.',
    otherwise: '`false`',
  }),
  experts: setting(z.enum(expertLayouts).optional(), {
    meaning:
      "The experts of mixtures in the output: `fused`, a layer's in one parameter, or `separate` ([Mixtures](mixtures.md)). `--experts` overrides it.",
    otherwise: 'those of the first model',
  }),
  quantize: setting(z.enum(writtenNames).optional(), {
    meaning:
      'The scheme to quantise the matrices of layers in ([Quantised models](quantised.md#quantising-an-output)). `--quantise` overrides it.',
    otherwise: 'not quantised',
  }),
  ...layoutSettings,
});
