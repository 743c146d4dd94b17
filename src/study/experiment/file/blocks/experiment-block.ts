import * as z from 'zod';
import { layerloomCommand } from '../../../../core/base/errors/command-line.js';
import { type Given, setting } from '../../../../core/base/errors/setting.js';
import {
  dtypeSchema,
  dtypeWords,
  layoutSettings,
} from '../../../../core/methods/framework/declaration/common-settings.js';
import type { ModelInput, PartParameters, RecipeInput } from '../../../../core/methods/recipes.js';
import { evaluationSchema } from '../../../evaluation/evaluation-block.js';
import { searchSchema } from './search-block.js';

type KeysOf<Union> = Union extends unknown ? keyof Union : never;

/** Union of a property's types over the members that have it. */
type ValueOf<Union, Key> = Union extends unknown ? (Key extends keyof Union ? Union[Key] : never) : never;

type Grid<Value> = Value | readonly Value[];

interface OwnParameters {
  /** Task experts by name, or `soup`. Default: every task expert. */
  task?: Grid<string> | undefined;
  /** Language experts by name, `soup`, or `all-soup`. Default: every expert of every language. */
  language?: Grid<string> | undefined;
  /** Experts by name; `task` and `language` mean all experts of that kind. */
  model?: Grid<string> | undefined;
  run?: Grid<string> | undefined;
  /** Path, or `task`, `language` or `base`. */
  base?: Grid<ModelInput> | undefined;
  /** Bottom and top layers. */
  layers?: readonly (readonly [number, number])[] | undefined;
  /** Two numbers are the weights of a pair, not two values to try. */
  weights?: Grid<'uniform' | 'magnitude' | readonly number[]> | readonly number[] | undefined;
  /** A list of parts is one value; its models are `task`, `language` and `base`. */
  parts?: readonly PartParameters[] | undefined;
}

type Fixed = 'method' | 'name' | 'models' | 'slices' | keyof OwnParameters;

/** Entry of an experiment: a method and its parameters in camel case, each a value or a list to try. */
export type MergeInput = { name: string; method: Grid<RecipeInput['method']> } & OwnParameters & {
    [Name in Exclude<KeysOf<RecipeInput>, Fixed>]?:
      | Grid<Exclude<ValueOf<RecipeInput, Name>, undefined>>
      | undefined;
  };

const text = z.string().min(1);

const experts = z.record(z.string(), text).meta({ minProperties: 1 });

export const furtherReference = z.strictObject({
  model: setting(text, { meaning: 'Path or `org/name`, as for experts.' }),
  role: setting(text.optional(), {
    meaning:
      'Your word for this kind of model, in lower-case letters, digits and hyphens; not `base`, `task`, `language` or `merge`.',
    otherwise: '`checkpoint`',
  }),
  languages: setting(z.union([text, z.array(text).min(1)]).optional(), {
    meaning:
      "The experiment's languages in which it is compared: one, or a list. Tables and reports of others omit it, even with `every_language: true`.",
    otherwise: 'all',
  }),
});

const reference = z.union([text, furtherReference]);

export const mergeSettings = z.strictObject({
  dtype: setting(dtypeSchema.optional(), {
    meaning: 'Output dtype of merges without their own: `bfloat16`, `float32`, …',
    ...dtypeWords,
    otherwise: "the dtype of each merge's first model",
  }),
  allowNonFinite: setting(z.boolean().optional(), {
    meaning:
      "Compute with values that are NaN or infinite, instead of [refusing](numbers.md) the merge. A merge's own key or `--allow-non-finite` overrides it.",
    otherwise: '`false`',
  }),
  tokenizerSource: setting(z.enum(['auto', 'strict', 'union', 'base']).optional(), {
    meaning:
      "Vocabulary of merges whose experts' vocabularies differ: `auto`, `strict`, `union` or `base` ([vocabularies](tokenizers.md)). `--tokenizer` overrides it.",
    otherwise: '`auto`',
  }),
});

export const plainSettings = z.strictObject({ ...mergeSettings.shape, ...layoutSettings });

/** Models are read separately, together with the positions of their names (read-experiment.ts). */
export const experimentSchema = z.strictObject({
  base: setting(text.optional(), {
    meaning:
      'The model that all experts were fine-tuned from. Only some methods and weights need it (`ties`, `magnitude`, …).',
  }),
  tasks: setting(experts.optional(), {
    meaning: 'Task experts, as `NAME: PATH`. All languages share them.',
    otherwise: 'required, unless `merges` is empty or only averages runs',
  }),
  languages: setting(z.record(z.string(), experts).meta({ minProperties: 1 }).optional(), {
    meaning: 'Experts by language, as `NAME: PATH`.',
    otherwise: 'required, unless `merges` is empty or only averages runs',
  }),
  runs: setting(experts.optional(), {
    meaning:
      'Training runs, as `NAME: PATH`: a folder with `checkpoint-N` folders. Entries with `run` average [windows of checkpoints](checkpoints.md#windows).',
  }),
  merges: setting(z.array(z.custom<MergeInput>().meta({ $ref: '#/$defs/merge' })), {
    meaning:
      'A list of [entries](#merges), each applied to every pair of experts. With `[]`, models are only scored.',
  }),
  references: setting(
    z.union([z.boolean(), z.record(z.string(), reference).meta({ minProperties: 1 })]).optional(),
    {
      meaning:
        '`true` compares merges with the base and the single experts; `false` does not. A mapping adds [further models](#references).',
      otherwise: '`true`',
    },
  ),
  evaluate: setting(evaluationSchema.optional(), {
    meaning: `Scoring: \`tasks\` by language, and [other keys](evaluation.md#the-evaluate-block). [\`${layerloomCommand('evaluate')}\`](evaluation.md) reads its copy in \`experiment.json\`. The block's commands (\`serve\`, \`arguments\`) run without asking you only in [folders that your own batches made](evaluation.md#folders-of-others).`,
  }),
  search: setting(searchSchema.optional(), {
    meaning: `Defaults of [\`${layerloomCommand('search')}\`](search.md).`,
  }),
  ...plainSettings.shape,
});

/** Model to compare merges with. */
export type ReferenceInput = Given<z.input<typeof reference>>;

/** Experiment given as an object (docs/experiments.md). */
export interface ExperimentInput extends Given<Omit<z.input<typeof experimentSchema>, 'merges'>> {
  readonly merges: readonly MergeInput[];
}
