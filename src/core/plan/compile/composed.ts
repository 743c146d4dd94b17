import { LayerloomError } from '../../base/errors.js';
import { optionName } from '../../base/option-name.js';
import type { Compiled, Statistics } from '../../methods/framework/method.js';
import type { Recipe } from '../../methods/recipe/recipe.js';
import type { ArithmeticDtype } from '../../tensor/dtype.js';
import type { CompleteRecipe } from '../complete-recipe.js';
import type { UnplacedTensor } from '../layout.js';
import type { AdapterModel } from './adapters/adapter-model.js';
import type { OpenedModel, Unmatched } from './inputs/models.js';
import type { Edits, TokenizerSource } from './vocabularies/tokenizer-source.js';

/** A recipe compiled to formulas over byte ranges of its inputs. */
export interface Composed {
  readonly recipe: Recipe;
  readonly compiled: Compiled;
  /** The recipe's parameters after defaults and normalisation, and its models if some of them are recipes. */
  readonly settled: Readonly<Record<string, unknown>>;
  /** The recipe that makes the same again, models included. */
  readonly complete: CompleteRecipe;
  readonly models: readonly OpenedModel[];
  readonly companions: readonly OpenedModel[];
  /**
   * The same object for recipes whose `tensors` are the same but for their expressions. Tensors that are one object have
   * one expression too.
   */
  readonly frame?: object;
  readonly tensors: readonly UnplacedTensor[];
  readonly layers: number;
  /** Where the output is an adapter: its changes, its configuration and the base that this names. */
  readonly adapter?: ComposedAdapter;
  /** The keys of the output's `config.json` that differ from the first model's; undefined for those that it lacks. */
  readonly configEdits: Readonly<Record<string, unknown>>;
  /** The dtype of an output that its first model stores quantised, and the output does not. */
  readonly storedDtype?: ArithmeticDtype;
  /** Returns the keys of the output's `generation_config.json` that differ from the first model's. */
  readonly generationEdits: (config: Edits) => Edits;
  /** The files of the output's tokenizer. */
  readonly tokenizer: TokenizerSource;
  /** Filters that match no tensor, those of nested recipes included. */
  readonly unmatched: readonly Unmatched[];
  readonly warnings: readonly string[];
}

/** An adapter that a recipe makes of adapters. */
export interface ComposedAdapter {
  readonly model: AdapterModel;
  /** The text of its `adapter_config.json`. */
  readonly configText: string;
  readonly base: string | undefined;
}

/** Statistics of whole models, measured before compilation. Recipes that need none are absent. */
export type StatisticsByRecipe = ReadonlyMap<Recipe, Statistics>;

/**
 * @throws LayerloomError INVALID_PARAMETER if a filter of the recipe, or of a nested one, matches no tensor
 */
export const requireMatches = ({ unmatched: [first] }: Composed): void => {
  if (first !== undefined)
    throw new LayerloomError(
      'INVALID_PARAMETER',
      {
        parameter: first.path.join('.'),
        value: first.what,
        expected: `a filter that matches a tensor (${optionName('strict')})`,
      },
      { context: { recipePath: first.path } },
    );
};
