import { nearest } from '../../../base/nearest.js';
import {
  chatTemplateNames,
  chatTemplateOf,
  chatTemplateWords,
} from '../../../models/tokenizer/chat-templates/chat-template.js';
import { tensorParameters } from '../../framework/declaration/parameter-facts.js';
import { snakeCase } from '../../framework/tensors/tensor-method.js';
import { methods } from '../../index.js';
import {
  eachOf,
  expectKey,
  expectMapping,
  type Field,
  layerRange,
  present,
  renamed,
  type Scope,
} from '../document/fields.js';
import { invalidRecipe, unknownKey } from '../document/invalid.js';
import {
  type Entries,
  isText,
  leaf,
  list,
  type Mapping,
  type MappingEntry,
  mapping,
  type Tree,
  toPlain,
} from '../document/tree.js';
import { warnOfUnknown } from '../document/warning.js';
import { overlay, type ParameterPlace, readParameters } from '../settings.js';
import { readMergekitTokenizer } from '../tokenizer-block.js';
import { expectNamed, mergekitModel } from './mergekit-model.js';

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
 * Translates mergekit's dialect (`merge_method:`) to ours, with `dialect: 'mergekit'`. As in mergekit, paths
 * start in the working directory, and `dtype` is the dtype of arithmetic. Warns of keys and parameters that
 * mergekit silently ignores.
 *
 * @throws RECIPE_INVALID
 */
export const readMergekit = (recipe: Mapping, scope: Scope): Promise<Mapping> =>
  new MergekitReader(recipe, scope).recipe();

class MergekitReader {
  readonly #scope: Scope;
  readonly #given: Mapping;
  readonly #method: MappingEntry;
  readonly #model: Field;
  readonly #shared: ParameterPlace;
  readonly #ofModel: ParameterPlace;
  readonly #names: readonly string[];

  constructor(recipe: Mapping, scope: Scope) {
    this.#scope = scope;
    this.#model = mergekitModel(scope);
    this.#given = mapping(recipe.mark, filled(recipe.entries));
    this.#method = expectKey(this.#given, 'merge_method', 'the recipe');
    const { value } = this.#method;
    if (!isText(value))
      throw invalidRecipe(value.mark, { key: 'merge_method', reason: 'no method', expected: 'its name' });
    const method = methods.get(value.value);
    const known = method === undefined ? undefined : tensorParameters(method);
    this.#names = [...(known?.keys() ?? [])].map(snakeCase);
    const place = { method: value.value, known, warn: scope.warn };
    this.#shared = { ...place, ofModel: false };
    this.#ofModel = { ...place, ofModel: true };
    this.#warnOfUnknown(recipe, 'the recipe', recipeKeys);
  }

  async recipe(): Promise<Mapping> {
    const given = this.#given;
    const part = partOf(given, parts);
    const { entries, mark } =
      part === 'modules' ? this.#onlyModule(expectKey(given, 'modules', 'the recipe')) : given;
    const inModule = mapping(mark, present(entries));
    const contents = partOf(inModule, ['models', 'slices']);
    const { key, value } = expectKey(inModule, contents, 'the module');
    const field = contents === 'models' ? this.#models : this.#slices;
    const globals = readParameters(given.entries.get('parameters'), this.#shared);
    const { key: at } = this.#method;
    return mapping(
      given.mark,
      new Map<string, MappingEntry>([
        ['method', this.#method],
        ['dialect', { key: at, value: leaf(at, 'mergekit') }],
        ...(await this.#baseOf(given.entries)),
        [contents, { key, value: await field(value) }],
        ...(part === 'modules'
          ? overlay(readParameters(inModule.entries.get('parameters'), this.#shared), globals)
          : globals),
        ...renamed(given.entries, { dtype: 'dtype', out_dtype: 'outDtype' }),
        ...this.#chatTemplate(),
        ...(await readMergekitTokenizer(given, this.#model, (of, place, known) =>
          this.#warnOfUnknown(of, place, known),
        )),
      ]),
    );
  }

  /** Reads the chat template. An unknown one is an error only if mergekit builds a tokenizer. */
  #chatTemplate(): [string, MappingEntry][] {
    const { entries } = this.#given;
    const given = entries.get('chat_template');
    if (given === undefined) return [];
    const { value } = given;
    const isUnknown = isText(value) && chatTemplateOf(value.value) === undefined;
    if (!isUnknown || entries.has('tokenizer') || entries.has('tokenizer_source'))
      return [['chatTemplate', given]];
    this.#scope.warn({
      mark: value.mark,
      key: 'chat_template',
      reason: `no chat template has the name ${JSON.stringify(value.value)}`,
      effect: 'ignored, as mergekit does',
      expected: chatTemplateWords,
      nearest: nearest(value.value, chatTemplateNames),
    });
    return [];
  }

  #warnOfUnknown(of: Mapping, place: string, known: readonly string[]): void {
    const names = known.includes('parameters') ? this.#names : [];
    warnOfUnknown(of, place, known, this.#scope.warn, names);
  }

  #onlyModule({ value }: MappingEntry): Mapping {
    const { entries } = expectMapping(value, 'modules', 'one module');
    const [first, ...others] = entries;
    if (first === undefined)
      throw invalidRecipe(value.mark, { key: 'modules', reason: 'empty', expected: 'one module' });
    const contents = JSON.stringify(toPlain(first[1].value));
    for (const [name, other] of others)
      if (JSON.stringify(toPlain(other.value)) !== contents)
        throw invalidRecipe(other.key, {
          key: name,
          reason: `a module that is merged otherwise than ${first[0]}, which is not supported`,
          expected: 'modules that say the same; filters tell their tensors apart',
        });
    const module = expectMapping(first[1].value, first[0], 'models or slices');
    this.#warnOfUnknown(module, 'the module', ['models', 'slices', 'parameters']);
    return module;
  }

  async #baseOf(entries: Entries): Promise<[string, MappingEntry][]> {
    const base = entries.get('base_model');
    return base === undefined ? [] : [['base', { key: base.key, value: await this.#model(base.value) }]];
  }

  async #modelOf(given: Mapping): Promise<[string, MappingEntry]> {
    const { key, value } = expectNamed(given, 'model', 'the entry');
    return ['model', { key, value: await this.#model(value) }];
  }

  readonly #models: Field = eachOf(
    'models',
    'a list of models, each with model: and parameters:',
    async (value) => {
      const given = expectMapping(value, 'models', 'model and parameters');
      this.#warnOfUnknown(given, 'models', ['model', 'parameters']);
      return mapping(
        given.mark,
        new Map([
          await this.#modelOf(given),
          ...readParameters(present(given.entries).get('parameters'), this.#ofModel),
        ]),
      );
    },
  );

  readonly #sources: Field = eachOf('sources', 'models with their layer_range', async (value) => {
    const given = expectMapping(value, 'sources', 'model, layer_range and parameters');
    this.#warnOfUnknown(given, 'sources', ['model', 'layer_range', 'parameters']);
    const range = expectNamed(given, 'layer_range', 'the source');
    return mapping(
      given.mark,
      new Map([
        await this.#modelOf(given),
        ['layerRange', { key: range.key, value: await layerRange(wholeNumbers(range.value)) }],
        ...readParameters(present(given.entries).get('parameters'), this.#ofModel),
      ]),
    );
  });

  readonly #slices: Field = eachOf('slices', 'a list of slices', async (value) => {
    const given = expectMapping(value, 'slices', 'sources, base_model and parameters');
    const known = ['sources', 'base_model', 'parameters'];
    const entries = present(given.entries);
    // mergekit accepts `residual_weight` but ignores it.
    this.#warnOfUnknown(mapping(given.mark, entries), 'slices', known);
    const { key, value: inputs } = expectNamed(given, 'sources', 'the slice');
    return mapping(
      given.mark,
      new Map<string, MappingEntry>([
        ['sources', { key, value: await this.#sources(inputs) }],
        ...(await this.#baseOf(entries)),
        ...readParameters(entries.get('parameters'), this.#shared),
      ]),
    );
  });
}

/** Reads quoted numbers as numbers, like pydantic: `["0", "16"]`. */
const wholeNumbers = (range: Tree): Tree =>
  range.kind !== 'list'
    ? range
    : list(
        range.mark,
        range.items.map((item) =>
          isText(item) && /^\s*\d+(\.0*)?\s*$/.test(item.value) ? leaf(item.mark, Number(item.value)) : item,
        ),
      );

const parts = ['models', 'slices', 'modules'] as const;

/** Drops values that mergekit treats as absent: null, empty texts, and empty `parts` if another has items. */
const filled = (entries: Entries): Entries => {
  const given = present(entries);
  const isGiven = (part: string): boolean => {
    const entry = given.get(part);
    return entry !== undefined && !isEmpty(entry.value);
  };
  const empty = parts.some(isGiven) ? parts.filter((part) => !isGiven(part)) : [];
  const dropped = new Set<string>(empty);
  return new Map([...given].filter(([key, { value }]) => !(dropped.has(key) || isEmptyText(value))));
};

const isEmptyText = (tree: Tree): boolean => isText(tree) && tree.value === '';

const isEmpty = (tree: Tree): boolean => {
  if (tree.kind === 'leaf') return isEmptyText(tree);
  return tree.kind === 'list' ? tree.items.length === 0 : tree.entries.size === 0;
};

const partOf = <Key extends string>({ entries, mark }: Mapping, keys: readonly Key[]): Key => {
  const [part, second] = keys.filter((key) => entries.has(key));
  if (part === undefined)
    for (const [key, { key: at }] of entries)
      if (nearest(key, keys) !== undefined) throw unknownKey(key, at, 'the recipe', keys);
  if (part === undefined || second !== undefined)
    throw invalidRecipe((second === undefined ? undefined : entries.get(second)?.key) ?? mark, {
      ...(second === undefined ? {} : { key: second }),
      reason: second === undefined ? 'nothing says what to merge' : `stands beside ${part}`,
      expected: `exactly one of ${keys.join(', ')}`,
    });
  return part;
};
