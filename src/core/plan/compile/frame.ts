import { itemAt, pick, valueAt } from '../../base/errors/lookup.js';
import type { Compiled, ModelReference, OutputTensor } from '../../methods/framework/declaration/method.js';
import type { Expression } from '../../methods/operations/expression.js';
import type { Recipe } from '../../methods/recipe/recipe.js';
import { moduleOf } from '../../models/checkpoint/module-folders.js';
import { bytesOfTensor } from '../../tensor/reference.js';
import type { UnplacedTensor } from '../layout.js';
import { binder } from './bind.js';
import { checkAll } from './inputs/check-models.js';
import type { OpenedModel } from './inputs/models.js';
import type { OpenedInputs } from './inputs/opened-inputs.js';
import { openRecipeModels, type RecipeModels } from './inputs/recipe-models.js';
import { sameModelWarnings } from './inputs/same-model.js';
import type { Cached } from './inputs/session.js';

/** Checked models and output tensors, shared by all recipes over these models. */
export interface Frame extends RecipeModels {
  readonly first: OpenedModel;
  readonly warnings: readonly string[];
  /**
   * Binds the output's tensors. For equal expressions, all merges get the same object.
   *
   * @throws the codes of the method's expressions and of `binder`
   */
  tensorsOf(compiled: Compiled): UnplacedTensor[];
}

/** Returns the settings that determine a frame: all that decide an output except its method's. */
const framedOf = (recipe: Recipe) =>
  pick(
    recipe,
    'models',
    'companions',
    'tokenizer',
    'transplant',
    'needsLayers',
    'stacksLayers',
    'dtype',
    'chatTemplate',
    'stack',
  );

type Framed = ReturnType<typeof framedOf>;

const frames: Cached<Promise<Frame>> = { most: 512 };

/**
 * Returns a recipe's frame, cached in the inputs' session.
 *
 * @throws as `openRecipeModels` and `checkAll`
 */
export const frameOf = (
  recipe: Recipe,
  inputs: OpenedInputs,
  open: (reference: ModelReference) => Promise<OpenedModel>,
): Promise<Frame> => {
  const { session } = inputs;
  const framed = framedOf(recipe);
  // Nested recipes are identified by object, because their text does not determine all that they compute.
  const byId = ({ role, model, path, inPart }: ModelReference) => [
    role,
    inPart,
    typeof model === 'string' ? model : session.idOf(model),
    path,
  ];
  const key = [
    session.idOf(inputs),
    { ...framed, models: framed.models.map(byId), companions: framed.companions.map(byId) },
  ];
  return session.remember(frames, key, () => makeFrame(framed, inputs, open));
};

const makeFrame = async (
  recipe: Framed,
  inputs: OpenedInputs,
  open: (reference: ModelReference) => Promise<OpenedModel>,
): Promise<Frame> => {
  const opened = await openRecipeModels(recipe, open, inputs.session);
  const { models, companions, vocabulary } = opened;
  const [first] = models;
  if (first === undefined) throw new Error('a recipe merges no model');
  const {
    warnings: found,
    omitted,
    own,
  } = await checkAll(
    recipe,
    models.filter(({ inPart }) => !inPart),
    companions,
    inputs.session,
    vocabulary,
  );
  const warnings = [
    ...found,
    ...(await sameModelWarnings([...models.filter(({ inPart }) => !inPart), ...companions])),
  ];
  const { places } = first.architecture;
  const likeFirst = (names: readonly string[]) =>
    names.map(
      (name): OutputTensor => ({
        name,
        like: { model: 0, tensor: name },
        place: places.get(name) ?? { layer: undefined, role: 'other', module: name },
      }),
    );
  const isOwn = new Set(own);
  const shared = [...first.checkpoint.tensors.keys()].filter(
    (name) => !omitted.has(name) && !isOwn.has(name),
  );
  const bind = binder(models, recipe.dtype);
  const make = (output: OutputTensor, made: Expression): UnplacedTensor => {
    const { name, like, place } = output;
    const { dtype, expression } = bind(output, made);
    const { shape } =
      output.shape === undefined
        ? valueAt(itemAt(models, like.model).checkpoint.tensors, like.tensor)
        : { shape: output.shape };
    const inModule = moduleOf(name);
    return {
      ...{ name, dtype, shape, bytes: bytesOfTensor(dtype, shape), place, expression },
      ...(inModule === undefined ? {} : { part: { name: inModule.name, shape } }),
    };
  };
  const made = sharedBy(likeFirst(shared), make);
  const kept = likeFirst(own).map((output) => make(output, { kind: 'copy', source: { model: 0 } }));
  return {
    ...opened,
    first,
    warnings,
    tensorsOf: (compiled) => {
      const { outputs } = compiled;
      if (outputs === undefined) return [...made(compiled), ...kept];
      return outputs
        .filter(({ name }) => !omitted.has(name))
        .map((output) => make(output, compiled.expressionOf(output.place, output.name)));
    },
  };
};

/** Maximum number of cached tensors, as a multiple of the output's tensors. */
const mostMade = 4;

/** Maximum length of a cached expression's text; longer ones, such as lists of rows, are not cached. */
const mostText = 4096;

const sharedBy = (
  outputs: readonly OutputTensor[],
  make: (output: OutputTensor, expression: Expression) => UnplacedTensor,
): ((compiled: Compiled) => UnplacedTensor[]) => {
  const ids = new Map<string, number>();
  const made = new Map<number, UnplacedTensor>();
  return (compiled) => {
    // Serialises each expression object once, because tensors share them.
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
