import { LayerloomError } from '../../base/errors/errors.js';
import { optionName } from '../../base/errors/option-name.js';
import type { Compiled, Statistics } from '../../methods/framework/declaration/method.js';
import type { Recipe } from '../../methods/recipe/recipe.js';
import type { ArithmeticDtype } from '../../tensor/dtype.js';
import type { CompleteRecipe } from '../complete-recipe.js';
import type { UnplacedTensor } from '../layout.js';
import type { AdapterModel } from './adapters/adapter-model.js';
import type { OpenedModel, Unmatched } from './inputs/models.js';
import type { Edits, TokenizerSource } from './vocabularies/tokenizer-source.js';

/** A recipe compiled to formulas over inputs' byte ranges. */
export interface Composed {
  readonly recipe: Recipe;
  readonly compiled: Compiled;
  /** Parameters with defaults, normalised. Includes the models only if one is a nested recipe. */
  readonly settled: Readonly<Record<string, unknown>>;
  readonly complete: CompleteRecipe;
  readonly models: readonly OpenedModel[];
  readonly companions: readonly OpenedModel[];
  /** Same object for all merges whose tensors differ only in expressions. They also share equal tensors. */
  readonly frame?: object;
  readonly tensors: readonly UnplacedTensor[];
  readonly layers: number;
  readonly adapter?: ComposedAdapter;
  /** Changes to the first model's `config.json`; undefined removes a key. */
  readonly configEdits: Readonly<Record<string, unknown>>;
  /** The dtype of a quantised first model if the output is not quantised. */
  readonly storedDtype?: ArithmeticDtype;
  readonly generationEdits: (config: Edits) => Edits;
  readonly tokenizer: TokenizerSource;
  /** Patterns that match no tensor, including those of nested recipes. */
  readonly unmatched: readonly Unmatched[];
  readonly warnings: readonly string[];
}

export interface ComposedAdapter {
  readonly model: AdapterModel;
  readonly configText: string;
  readonly base: string | undefined;
}

export type StatisticsByRecipe = ReadonlyMap<Recipe, Statistics>;

/** @throws INVALID_PARAMETER if a filter, even of a nested recipe, matches no tensor */
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
