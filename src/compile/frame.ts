import { itemAt, keep, valueAt } from '../base/lookup.js';
import type { Compiled, ModelReference, OutputTensor } from '../methods/framework/method.js';
import type { RecipeInput } from '../methods/recipes.js';
import type { Expression } from '../operations/expression.js';
import type { UnplacedTensor } from '../plan/layout.js';
import type { Recipe } from '../recipe/recipe.js';
import { bytesOfTensor } from '../tensor/reference.js';
import { binder } from './bind.js';
import { checkAll } from './check-models.js';
import type { OpenedModel } from './models.js';
import type { OpenedInputs } from './opened-inputs.js';
import { openRecipeModels, type RecipeModels } from './recipe-models.js';
import { sameModelWarnings } from './same-model.js';

/** What recipes over the same models share: the models, found compatible, and the tensors of their outputs. */
export interface Frame extends RecipeModels {
  readonly first: OpenedModel;
  readonly warnings: readonly string[];
  /**
   * Returns the output tensors of a recipe over the models. Recipes that say the same expression of a tensor get the same
   * object: in a batch most tensors are those of another merge.
   *
   * @throws LayerloomError the codes of the method's expressions and of `binder`
   */
  tensorsOf(compiled: Compiled): UnplacedTensor[];
}

/**
 * Returns the frame of a recipe, which is kept as long as the inputs.
 *
 * @throws LayerloomError the codes of `openRecipeModels` and `checkAll`
 */
export const frameOf = (
  recipe: Recipe,
  inputs: OpenedInputs,
  open: (reference: ModelReference) => Promise<OpenedModel>,
): Promise<Frame> => {
  const frames = framesWith.get(inputs.made) ?? new Map<string, Promise<Frame>>();
  framesWith.set(inputs.made, frames);
  const key = keyOf(recipe);
  return keep(frames, key, frames.get(key) ?? makeFrame(recipe, inputs, open), mostFrames);
};

/** Frames are kept beside the nested recipes that they may be over. */
const framesWith = new WeakMap<OpenedInputs['made'], Map<string, Promise<Frame>>>();

/** Limit on the frames that are kept, each with the tensors of a model. */
const mostFrames = 256;

/** Numbers of nested recipes, which are told apart as objects. */
const numbers = new WeakMap<object, number>();
let counted = 0;

const numberOf = (recipe: Exclude<RecipeInput, string>): number => {
  const number = numbers.get(recipe) ?? counted++;
  numbers.set(recipe, number);
  return number;
};

/** Returns the text of all that a frame depends on: recipes of one text have one frame. */
const keyOf = (recipe: Recipe): string => {
  const { models, companions, tokenizer, needsLayers, stacksLayers, dtype, chatTemplate } = recipe;
  const references = [...models, ...companions].map(({ role, model, path }) => [
    role,
    typeof model === 'string' ? model : numberOf(model),
    path,
  ]);
  return JSON.stringify([
    models.length,
    references,
    { ...tokenizer, tokens: [...tokenizer.tokens] },
    [needsLayers, stacksLayers, dtype, chatTemplate],
  ]);
};

const makeFrame = async (
  recipe: Recipe,
  inputs: OpenedInputs,
  open: (reference: ModelReference) => Promise<OpenedModel>,
): Promise<Frame> => {
  const opened = await openRecipeModels(recipe, open);
  const { models, companions, vocabulary } = opened;
  const [first] = models;
  if (first === undefined) throw new Error(`method ${recipe.method} merges no model`);
  const { warnings: found, omitted } = await checkAll(
    recipe,
    models,
    companions,
    inputs,
    vocabulary.isDecided,
  );
  const warnings = [...found, ...(await sameModelWarnings([...models, ...companions]))];
  const { places } = first.architecture;
  const likeFirst = [...first.checkpoint.tensors.keys()]
    .filter((name) => !omitted.has(name))
    .map(
      (name): OutputTensor => ({
        name,
        like: { model: 0, tensor: name },
        place: places.get(name) ?? { layer: undefined, role: 'other', module: name },
      }),
    );
  const bind = binder(models, recipe.dtype);
  const make = (output: OutputTensor, made: Expression): UnplacedTensor => {
    const { name, like, place } = output;
    const { dtype, expression } = bind(output, made);
    const { shape } = valueAt(itemAt(models, like.model).checkpoint.tensors, like.tensor);
    return { name, dtype, shape, bytes: bytesOfTensor(dtype, shape), place, expression };
  };
  const shared = sharedBy(likeFirst, make);
  return {
    ...opened,
    first,
    warnings,
    tensorsOf: (compiled) => {
      const { outputs } = compiled;
      if (outputs === undefined) return shared(compiled);
      return outputs
        .filter(({ name }) => !omitted.has(name))
        .map((output) => make(output, compiled.expressionOf(output.place, output.name)));
    },
  };
};

/** Limit on the tensors that a frame keeps, as a multiple of its outputs. */
const mostMade = 4;

/** Limit on the texts of expressions that are compared: longer ones, such as lists of rows, are a merge's own. */
const mostText = 4096;

/** Returns a function that makes the tensors of a recipe, one for each expression of an output. */
const sharedBy = (
  outputs: readonly OutputTensor[],
  make: (output: OutputTensor, expression: Expression) => UnplacedTensor,
): ((compiled: Compiled) => UnplacedTensor[]) => {
  const ids = new Map<string, number>();
  const made = new Map<number, UnplacedTensor>();
  return (compiled) => {
    // Methods say one object of many tensors: its text is made once.
    const known = new Map<Expression, number | undefined>();
    if (made.size > mostMade * outputs.length) {
      made.clear();
      ids.clear();
    }
    const idOf = (expression: Expression): number | undefined => {
      if (known.has(expression)) return known.get(expression);
      const text = JSON.stringify(expression);
      const id = text.length > mostText ? undefined : (ids.get(text) ?? ids.size);
      if (id !== undefined) ids.set(text, id);
      known.set(expression, id);
      return id;
    };
    return outputs.map((output, index) => {
      const expression = compiled.expressionOf(output.place, output.name);
      const id = idOf(expression);
      if (id === undefined) return make(output, expression);
      const key = id * outputs.length + index;
      const tensor = made.get(key) ?? make(output, expression);
      made.set(key, tensor);
      return tensor;
    });
  };
};
