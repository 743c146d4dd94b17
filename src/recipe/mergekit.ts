import {
  eachOf,
  expectKey,
  expectMapping,
  type Field,
  isRecipe,
  layerRange,
  notAModel,
  present,
  type Scope,
} from './fields.js';
import { checkKeys, invalid } from './invalid.js';
import { overlay, readParameters } from './settings.js';
import { readMergekitTokenizer } from './tokenizer-block.js';
import { type Entries, isText, leaf, type Mapping, type MappingEntry, mapping, type Tree } from './tree.js';

const recipeKeys = [
  'merge_method',
  'models',
  'slices',
  'modules',
  'base_model',
  'parameters',
  'dtype',
  'out_dtype',
  'tokenizer_source',
  'tokenizer',
  'chat_template',
  'name',
];

/**
 * Reads a recipe of mergekit's dialect (`merge_method:`) and translates it to ours: parameters beside the
 * other keys, names in camel case, and `dialect: 'mergekit'`. Relative paths are kept, and so begin in the
 * working directory. A key that mergekit silently ignores is an error. `dtype` and `outDtype` are kept as
 * given; in mergekit the former is the dtype of the arithmetic.
 *
 * @throws LayerloomError RECIPE_INVALID
 */
export const readMergekit = async (recipe: Mapping, scope: Scope): Promise<Mapping> => {
  checkKeys(recipe.entries, 'the recipe', recipeKeys);
  const given = mapping(recipe.mark, present(recipe.entries));
  const method = expectKey(given, 'merge_method', 'the recipe');
  if (!isText(method.value))
    throw invalid(method.value.mark, { key: 'merge_method', reason: 'no method', expected: 'its name' });
  const model = modelField(scope);
  const part = partOf(given, ['models', 'slices', 'modules']);
  const { entries, mark } =
    part === 'modules' ? onlyModule(expectKey(given, 'modules', 'the recipe')) : given;
  const inModule = mapping(mark, present(entries));
  const contents = partOf(inModule, ['models', 'slices']);
  const { key, value } = expectKey(inModule, contents, 'the module');
  const field = contents === 'models' ? modelsField(model) : slicesField(model);
  const globals = readParameters(given.entries.get('parameters'));
  return mapping(
    recipe.mark,
    new Map<string, MappingEntry>([
      ['method', method],
      ['dialect', { key: method.key, value: leaf(method.key, 'mergekit') }],
      ...(await baseOf(given.entries, model)),
      [contents, { key, value: await field(value) }],
      ...(part === 'modules'
        ? overlay(readParameters(inModule.entries.get('parameters')), globals)
        : globals),
      ...kept(given.entries, { dtype: 'dtype', out_dtype: 'outDtype', chat_template: 'chatTemplate' }),
      ...(await readMergekitTokenizer(given, model)),
    ]),
  );
};

const kept = (entries: Entries, names: Readonly<Record<string, string>>): [string, MappingEntry][] =>
  Object.entries(names).flatMap(([key, name]) => {
    const entry = entries.get(key);
    return entry === undefined ? [] : [[name, entry]];
  });

/** Returns the one of several exclusive keys that is given. */
const partOf = <Key extends string>({ entries, mark }: Mapping, keys: readonly Key[]): Key => {
  const [part, second] = keys.filter((key) => entries.has(key));
  if (part === undefined || second !== undefined)
    throw invalid((second === undefined ? undefined : entries.get(second)?.key) ?? mark, {
      ...(second === undefined ? {} : { key: second }),
      reason: second === undefined ? 'nothing says what to merge' : `stands beside ${part}`,
      expected: `exactly one of ${keys.join(', ')}`,
    });
  return part;
};

/** Returns the only module of `modules`, whatever its name. */
const onlyModule = ({ value }: MappingEntry): Mapping => {
  const { entries } = expectMapping(value, 'modules', 'one module');
  const [first, second] = entries;
  if (first === undefined)
    throw invalid(value.mark, { key: 'modules', reason: 'empty', expected: 'one module' });
  if (second !== undefined)
    throw invalid(second[1].key, {
      key: second[0],
      reason: 'a second module, which is not supported',
      expected: 'one module',
    });
  const module = expectMapping(first[1].value, first[0], 'models or slices');
  checkKeys(module.entries, 'the module', ['models', 'slices', 'parameters']);
  return module;
};

const baseOf = async (entries: Entries, model: Field): Promise<[string, MappingEntry][]> => {
  const base = entries.get('base_model');
  return base === undefined ? [] : [['base', { key: base.key, value: await model(base.value) }]];
};

const modelsField = (model: Field): Field =>
  eachOf('models', 'a list of models, each with model: and parameters:', async (value) => {
    const given = expectMapping(value, 'models', 'model and parameters');
    checkKeys(given.entries, 'models', ['model', 'parameters']);
    return mapping(
      given.mark,
      new Map([await modelOf(given, model), ...readParameters(present(given.entries).get('parameters'))]),
    );
  });

const modelOf = async (given: Mapping, model: Field): Promise<[string, MappingEntry]> => {
  const { key, value } = expectKey(given, 'model', 'the entry');
  return ['model', { key, value: await model(value) }];
};

const slicesField = (model: Field): Field => {
  const source: Field = async (value) => {
    const given = expectMapping(value, 'sources', 'model, layer_range and parameters');
    checkKeys(given.entries, 'sources', ['model', 'layer_range', 'parameters']);
    const range = expectKey(given, 'layer_range', 'the source');
    return mapping(
      given.mark,
      new Map([
        await modelOf(given, model),
        ['layerRange', { key: range.key, value: await layerRange(range.value) }],
        ...readParameters(present(given.entries).get('parameters')),
      ]),
    );
  };
  const sources = eachOf('sources', 'models with their layer_range', source);
  return eachOf('slices', 'a list of slices', async (value) => {
    const given = expectMapping(value, 'slices', 'sources, base_model and parameters');
    checkKeys(given.entries, 'slices', ['sources', 'base_model', 'residual_weight', 'parameters']);
    const entries = present(given.entries);
    refuse(entries, 'residual_weight', 'mergekit itself does nothing with it');
    const { key, value: inputs } = expectKey(given, 'sources', 'the slice');
    return mapping(
      given.mark,
      new Map<string, MappingEntry>([
        ['sources', { key, value: await sources(inputs) }],
        ...(await baseOf(entries, model)),
        ...readParameters(entries.get('parameters')),
      ]),
    );
  });
};

const refuse = (entries: Entries, key: string, reason: string): void => {
  const entry = entries.get(key);
  if (entry !== undefined) throw invalid(entry.key, { key, reason: `not supported: ${reason}` });
};

/**
 * Reads `path[@revision]`, `{model: path}` or `{model: {path, revision}}`, or a nested recipe, in place or by
 * its name.
 */
const modelField = (scope: Scope): Field => {
  const named = async (tree: Tree, path: string): Promise<Tree> =>
    (await scope.named(path, tree.mark, '')) ?? (isText(tree) ? tree : leaf(tree.mark, path));
  return async (value) => {
    if (isText(value)) return named(value, value.value);
    if (value.kind !== 'mapping') throw notAModel(value.mark);
    if (isRecipe(value)) return scope.nested(value);
    checkKeys(value.entries, 'the model', ['model', 'lora', 'override_architecture']);
    const entries = present(value.entries);
    refuse(entries, 'lora', 'merge the adapter into its base first (peft: merge_and_unload)');
    refuse(entries, 'override_architecture', 'tensors are taken by their names');
    const { value: inner } = expectKey(value, 'model', 'the model');
    if (isText(inner)) return named(inner, inner.value);
    if (inner.kind === 'mapping' && isRecipe(inner)) return scope.nested(inner);
    return named(inner, pathOf(inner));
  };
};

const pathOf = (tree: Tree): string => {
  const given = expectMapping(tree, 'model', 'a path, or path and revision');
  checkKeys(given.entries, 'the model', ['path', 'revision']);
  const { value: path } = expectKey(given, 'path', 'the model');
  if (!isText(path)) throw notAModel(path.mark);
  const revision = present(given.entries).get('revision')?.value;
  if (revision === undefined) return path.value;
  if (isText(revision)) return `${path.value}@${revision.value}`;
  throw invalid(revision.mark, {
    key: 'revision',
    reason: 'no revision',
    expected: 'text: put it in quotes',
  });
};
