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
  /** The recipe's parameters after defaults and normalisation; its models only if some are nested recipes. */
  readonly settled: Readonly<Record<string, unknown>>;
  /** The recipe that reproduces this merge, models included. */
  readonly complete: CompleteRecipe;
  readonly models: readonly OpenedModel[];
  readonly companions: readonly OpenedModel[];
  /**
   * The same object for recipes whose `tensors` differ only in expressions. Identical tensor objects have
   * identical expressions.
   */
  readonly frame?: object;
  readonly tensors: readonly UnplacedTensor[];
  readonly layers: number;
  /** Present if the output is an adapter. */
  readonly adapter?: ComposedAdapter;
  /** Keys of the output's `config.json` that differ from the first model's; undefined removes a key. */
  readonly configEdits: Readonly<Record<string, unknown>>;
  /** The output's dtype if the first model is quantised and the output is not. */
  readonly storedDtype?: ArithmeticDtype;
  /** Returns the keys of the output's `generation_config.json` that differ from the first model's. */
  readonly generationEdits: (config: Edits) => Edits;
  readonly tokenizer: TokenizerSource;
  /** Filters that match no tensor, including those of nested recipes. */
  readonly unmatched: readonly Unmatched[];
  readonly warnings: readonly string[];
}

export interface ComposedAdapter {
  readonly model: AdapterModel;
  readonly configText: string;
  readonly base: string | undefined;
}

/** Statistics of whole models, measured before compilation; only for recipes that need some. */
export type StatisticsByRecipe = ReadonlyMap<Recipe, Statistics>;

/** @throws LayerloomError INVALID_PARAMETER if a filter of the recipe or a nested one matches no tensor */
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
