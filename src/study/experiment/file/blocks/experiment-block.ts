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

/** Values of a property in the members of a union that have it. */
type ValueOf<Union, Key> = Union extends unknown ? (Key extends keyof Union ? Union[Key] : never) : never;

/** A value, or a list of values to try. */
type Grid<Value> = Value | readonly Value[];

/** Parameters that differ from those of recipes. */
interface OwnParameters {
  /** Task experts by name, or `soup`. Default: each. */
  task?: Grid<string> | undefined;
  /** Language experts by name, `soup`, or `all-soup`. Default: each of each language. */
  language?: Grid<string> | undefined;
  /** Experts by name; `task` and `language` mean all of a kind. */
  model?: Grid<string> | undefined;
  /** Runs by name. */
  run?: Grid<string> | undefined;
  /** A model, or `task`, `language` or `base`. */
  base?: Grid<ModelInput> | undefined;
  /** Pairs of bottom and top layers. */
  layers?: readonly (readonly [number, number])[] | undefined;
  /** Two numbers are one pair. */
  weights?: Grid<'uniform' | 'magnitude' | readonly number[]> | readonly number[] | undefined;
  /** A single value, of models `task`, `language` and `base`. */
  parts?: readonly PartParameters[] | undefined;
}

type Fixed = 'method' | 'name' | 'models' | 'slices' | keyof OwnParameters;

/**
 * An entry of an experiment: a method and its parameters in camel case, each a value or a list of values to
 * try.
 */
export type MergeInput = {
  name: string;
  method: Grid<RecipeInput['method']>;
} & OwnParameters & {
    [Name in Exclude<KeysOf<RecipeInput>, Fixed>]?:
      | Grid<Exclude<ValueOf<RecipeInput, Name>, undefined>>
      | undefined;
  };

const text = z.string().min(1);

const experts = z.record(z.string(), text).meta({ minProperties: 1 });

/** A model under `references:` with more than a path. */
export const furtherReference = z.strictObject({
  model: setting(text, { meaning: 'The checkpoint, as experts are given.' }),
  role: setting(text.optional(), {
    meaning:
      'A word of yours for models of a kind, in lower-case letters, digits and hyphens. Not `base`, `task`, `language` or `merge`, the roles of merged models and merges.',
    otherwise: '`checkpoint`',
  }),
  languages: setting(z.union([text, z.array(text).min(1)]).optional(), {
    meaning:
      "The experiment's languages that it is for, one or a list. It is measured in these, and in tables, reports and comparisons it counts in these alone, also with `every_language: true`.",
    otherwise: 'all',
  }),
});

const reference = z.union([text, furtherReference]);

/** Defaults of an experiment's merges. */
export const mergeSettings = z.strictObject({
  dtype: setting(dtypeSchema.optional(), {
    meaning: 'Output dtype of merges that say no other: `bfloat16`, `float32`, …',
    ...dtypeWords,
    otherwise: "that of each merge's first model",
  }),
  allowNonFinite: setting(z.boolean().optional(), {
    meaning:
      'Merges that say nothing else compute with values that are NaN or infinite, instead of being [refused](numbers.md). The option `--allow-non-finite` overrides it. A refused merge fails alone.',
    otherwise: '`false`',
  }),
  tokenizerSource: setting(z.enum(['auto', 'strict', 'union', 'base']).optional(), {
    meaning:
      'Vocabulary of merges whose experts differ in theirs: `auto`, `strict`, `union` or `base` ([vocabularies](tokenizers.md)). The option `--tokenizer` overrides it.',
    otherwise: '`auto`',
  }),
});

export const plainSettings = z.strictObject({ ...mergeSettings.shape, ...layoutSettings });

/** Models are read separately, with the places of their names (read-experiment.ts). */
export const experimentSchema = z.strictObject({
  base: setting(text.optional(), {
    meaning:
      'The model that all experts were fine-tuned from. Needed only by methods and weights that compare with it (`ties`, `magnitude`, …).',
  }),
  tasks: setting(experts.optional(), {
    meaning: 'Task experts, `NAME: PATH` each. All languages share them.',
    otherwise: 'required, unless `merges` is empty or of runs',
  }),
  languages: setting(z.record(z.string(), experts).meta({ minProperties: 1 }).optional(), {
    meaning: 'Languages, each with its experts, `NAME: PATH` each. Several languages may share an expert.',
    otherwise: 'required, unless `merges` is empty or of runs',
  }),
  runs: setting(experts.optional(), {
    meaning:
      'Training runs, `NAME: PATH` each, of folders that hold `checkpoint-N` folders. Entries with `run` average [windows of their checkpoints](checkpoints.md#windows).',
  }),
  merges: setting(z.array(z.custom<MergeInput>().meta({ $ref: '#/$defs/merge' })), {
    meaning:
      'A list of [entries](#merges): the merges of every pair of experts. An empty one, `[]`, only scores the models.',
  }),
  references: setting(
    z.union([z.boolean(), z.record(z.string(), reference).meta({ minProperties: 1 })]).optional(),
    {
      meaning:
        '`true` lists the base and the single experts in `experiment.json`, for merges to be compared with; `false` does not. A mapping lists them and [further models](#references).',
      otherwise: '`true`',
    },
  ),
  evaluate: setting(evaluationSchema.optional(), {
    meaning: `Measurements: \`tasks\` by language, and [other keys](evaluation.md#the-evaluate-block). It is checked and copied into \`experiment.json\`; a batch runs no evaluation, [\`${layerloomCommand('evaluate')}\`](evaluation.md) does. The block's commands (\`serve\`, \`arguments\`) are run without a question only in [folders that your own batches made](evaluation.md#folders-of-others).`,
  }),
  search: setting(searchSchema.optional(), {
    meaning: `Defaults of [\`${layerloomCommand('search')}\`](search.md).`,
  }),
  ...plainSettings.shape,
});

/** A model to compare merges with. */
export type ReferenceInput = Given<z.input<typeof reference>>;

/** An experiment given as an object (docs/experiments.md). */
export interface ExperimentInput extends Given<Omit<z.input<typeof experimentSchema>, 'merges'>> {
  readonly merges: readonly MergeInput[];
}
