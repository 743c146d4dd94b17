import { LayerloomError } from '../../base/errors/errors.js';
import {
  eachOf,
  expectKey,
  expectMapping,
  type Field,
  inCamelCase,
  isRecipe,
  layerRange,
  notAModel,
  readFields,
  type Scope,
} from './document/fields.js';
import { invalidRecipe } from './document/invalid.js';
import { locationOf } from './document/source.js';
import {
  type Entries,
  isText,
  leaf,
  type Mapping,
  type MappingEntry,
  mapping,
  type Text,
  type Tree,
} from './document/tree.js';
import { partWords } from './model-places.js';
import { ourSource, ourTokenizer } from './tokenizer-block.js';

/**
 * Reads a recipe with `method:`. Relative paths start in the file's folder. A model may be a nested recipe,
 * inline or by the name of a document or file.
 *
 * @throws RECIPE_INVALID, READ_FAILED
 */
export const readOurs = (recipe: Mapping, scope: Scope): Promise<Mapping> => {
  const model = modelField(scope);
  const source: Field = async (value) => {
    const given = expectMapping(value, 'sources', 'model, layer_range and parameters');
    expectKey(given, 'model', 'the source');
    expectKey(given, 'layer_range', 'the source');
    return readFields(flattened(given, 'the source'), { model, layerRange });
  };
  const slice: Field = async (value) => {
    const given = expectMapping(value, 'slices', 'sources and parameters');
    expectKey(given, 'sources', 'the slice');
    return readFields(flattened(given, 'the slice'), {
      base: model,
      sources: eachOf('sources', 'models with their layer_range', source),
    });
  };
  const entry: Field = async (value) => {
    if (value.kind !== 'mapping' || isRecipe(value)) return model(value);
    expectKey(value, 'model', 'the model');
    return readFields(flattened(value, 'the model'), { model });
  };
  const ofPart: Field = async (value) => (isText(value) && partWords.has(value.value) ? value : model(value));
  const part: Field = async (value) =>
    readFields(
      mapping(
        value.mark,
        inCamelCase(expectMapping(value, 'parts', 'model, layers and modules').entries, 'the part'),
      ),
      { model: ofPart, models: eachOf('models', 'a list of models', ofPart) },
    );
  return readFields(flattened(recipe, 'the recipe'), {
    method: methodName,
    task: model,
    language: model,
    base: model,
    model,
    models: eachOf('models', 'a list of models', entry),
    sharedExperts: eachOf('shared_experts', 'a list of models', entry),
    importances: eachOf('importances', 'a list of files', model),
    grams: eachOf('grams', 'a list of files', model),
    gates: model,
    config: model,
    donor: model,
    slices: eachOf('slices', 'a list of slices', slice),
    parts: eachOf('parts', 'a list of parts', part),
    tokenizerSource: ourSource(model),
    tokenizer: ourTokenizer(model),
  });
};

const methodName: Field = async (value) => {
  if (isText(value)) return value;
  throw invalidRecipe(value.mark, { key: 'method', reason: 'no method', expected: 'its name' });
};

const flattened = ({ mark, entries }: Mapping, place: string): Mapping => {
  const flat = inCamelCase(entries, place);
  const parameters = flat.get('parameters');
  if (parameters === undefined) return mapping(mark, flat);
  flat.delete('parameters');
  for (const [name, entry] of inCamelCase(parametersOf(parameters), 'parameters')) {
    if (flat.has(name))
      throw invalidRecipe(entry.key, {
        key: name,
        reason: `${place} sets this twice: directly, and under parameters`,
      });
    flat.set(name, entry);
  }
  return mapping(mark, flat);
};

const parametersOf = ({ value }: MappingEntry): Entries =>
  expectMapping(value, 'parameters', 'names and values').entries;

const modelField =
  (scope: Scope): Field =>
  async (value) => {
    if (value.kind === 'mapping' && isRecipe(value)) return scope.nested(value);
    if (!isText(value)) throw notAModel(value);
    return (await scope.named(value.value, value.mark, scope.folder)) ?? pathFrom(scope, value);
  };

const pathFrom = async ({ find }: Scope, { mark, value }: Text): Promise<Tree> =>
  leaf(
    mark,
    await find(value).catch((error: unknown) => {
      throw error instanceof LayerloomError ? error.with({ place: locationOf(mark) }) : error;
    }),
  );
