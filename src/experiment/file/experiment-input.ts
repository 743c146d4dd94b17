import type { Evaluation } from '../../evaluation/settings.js';
import type { ModelInput, RecipeInput } from '../../methods/recipes.js';
import type { Layout } from '../../plan/layout.js';
import type { DtypeName } from '../../tensor/dtype.js';
import type { SearchBlock } from './search-block.js';

type KeysOf<Union> = Union extends unknown ? keyof Union : never;

/** The values that a property has in the members of a union that have it. */
type ValueOf<Union, Key> = Union extends unknown ? (Key extends keyof Union ? Union[Key] : never) : never;

/** One value, or a list of values to try. */
type Grid<Value> = Value | readonly Value[];

/** Parameters that an entry has in another form than a recipe does. */
interface OwnParameters {
  /** Task experts by name, or `soup`. Default: each. */
  task?: Grid<string> | undefined;
  /** Language experts by name, `soup`, or `all-soup`. Default: each of each language. */
  language?: Grid<string> | undefined;
  /** Experts to revert or lay out anew, by name; `task` and `language` are all of a kind. */
  model?: Grid<string> | undefined;
  /** A model, or `task`, `language` or `base`. Default: the experiment's where the method needs one. */
  base?: Grid<ModelInput> | undefined;
  /** Bottom and top layers together: a list of pairs. */
  layers?: readonly (readonly [number, number])[] | undefined;
  /** Two numbers are one pair. */
  weights?: Grid<'uniform' | 'magnitude' | readonly number[]> | readonly number[] | undefined;
}

type Fixed = 'method' | 'name' | 'models' | 'slices' | keyof OwnParameters;

/**
 * An entry of an experiment: a method, and its parameters in camel case, each with one value or a list of
 * values to try.
 */
export type MergeInput = {
  name: string;
  method: Grid<RecipeInput['method']>;
} & OwnParameters & {
    [Name in Exclude<KeysOf<RecipeInput>, Fixed>]?:
      | Grid<Exclude<ValueOf<RecipeInput, Name>, undefined>>
      | undefined;
  };

/** A model to compare merges with: its path, or with a role and limited to languages of the experiment. */
export type ReferenceInput =
  | string
  | {
      readonly model: string;
      /** In kebab case: `joint`. Default `checkpoint`. */
      readonly role?: string | undefined;
      /** Languages of the experiment to measure it in. Default: all. */
      readonly languages?: string | readonly string[] | undefined;
    };

/** An experiment as a caller describes it (docs/experiments.md). */
export interface ExperimentInput {
  /**
   * The model that all experts were fine-tuned from. Needed by methods that need one, and by magnitude
   * weights.
   */
  base?: string | undefined;
  /** Task experts by name. */
  tasks: Readonly<Record<string, string>>;
  /** Language experts by name, by language. */
  languages: Readonly<Record<string, Readonly<Record<string, string>>>>;
  merges: readonly MergeInput[];
  evaluate?: Evaluation | undefined;
  search?: SearchBlock | undefined;
  /**
   * List the base and the single experts beside the merges. Default true. An object lists them and further models
   * by name, which are scored and never merged.
   */
  references?: boolean | Readonly<Record<string, ReferenceInput>> | undefined;
  /** The floating dtype of every merge that says no other. Default: that of each merge's first model. */
  dtype?: DtypeName | undefined;
  /**
   * Compute with values that are NaN or infinite, in every merge that says nothing else, instead of refusing them with
   * NON_FINITE. Default false.
   */
  allowNonFinite?: boolean | undefined;
  /** The tokenizer's source of every merge that says no other: `auto`, the default, `strict`, `union` or `base`. */
  tokenizerSource?: 'auto' | 'strict' | 'union' | 'base' | undefined;
  /** Default `layer`. */
  layout?: Layout | undefined;
  /** Bytes, or a size such as `5GB` (the default). */
  maxShardSize?: string | number | undefined;
}
