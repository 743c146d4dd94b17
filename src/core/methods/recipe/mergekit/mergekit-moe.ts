import {
  eachOf,
  expectMapping,
  type Field,
  present,
  readEntry,
  renamed,
  type Scope,
} from '../document/fields.js';
import { type Entries, entriesOf, leaf, type Mapping, type MappingEntry, mapping } from '../document/tree.js';
import { warnOfUnknown } from '../document/warning.js';
import { expectNamed, mergekitModel } from './mergekit-model.js';

const telling = ['experts', 'gate_mode', 'experts_per_token', 'shared_experts'];

/** True for a mergekit-moe file, which has neither models nor slices. */
export const isMergekitMoe = (entries: Entries): boolean =>
  telling.some((key) => entries.has(key)) &&
  !['models', 'slices', 'modules', 'method'].some((key) => entries.has(key));

const ofExpert = {
  positive_prompts: 'positivePrompts',
  negative_prompts: 'negativePrompts',
  residual_scale: 'residualScale',
  noise_scale: 'noiseScale',
};

/** A recipe's keys and our names; mergekit ignores the last two. */
const ofRecipe = {
  gate_mode: 'gateMode',
  experts_per_token: 'expertsPerToken',
  architecture: 'architecture',
  dtype: 'dtype',
  gates: 'gates',
  seed: 'seed',
};

/**
 * Translates a mergekit-moe file (`base_model`, `experts`, …) to our method `mixture`. As in mergekit, paths
 * start in the working directory. Warns of keys that mergekit-moe silently ignores.
 *
 * @throws RECIPE_INVALID
 */
export const readMergekitMoe = async (recipe: Mapping, scope: Scope): Promise<Mapping> => {
  const model = mergekitModel(scope);
  const expert: Field = async (value) => {
    const given = expectMapping(value, 'experts', 'source_model and prompts');
    warnOfUnknown(given, 'the expert', ['source_model', ...Object.keys(ofExpert)], scope.warn);
    const source = expectNamed(given, 'source_model', 'the expert');
    return mapping(
      given.mark,
      new Map([
        ['model', { key: source.key, value: await model(source.value) }],
        ...renamed(present(given.entries), ofExpert),
      ]),
    );
  };
  const experts = eachOf(
    'experts',
    'a list of experts, each with source_model: and positive_prompts:',
    expert,
  );
  const known = ['base_model', 'experts', 'shared_experts', ...Object.keys(ofRecipe)];
  warnOfUnknown(recipe, 'the recipe', known, scope.warn);
  const entries = present(recipe.entries);
  const given = mapping(recipe.mark, entries);
  const base = expectNamed(given, 'base_model', 'the recipe');
  const routed = expectNamed(given, 'experts', 'the recipe');
  const shared = entries.get('shared_experts');
  const isEmpty = shared?.value.kind === 'list' && shared.value.items.length === 0;
  return mapping(
    recipe.mark,
    new Map<string, MappingEntry>([
      ['method', { key: base.key, value: leaf(base.key, 'mixture') }],
      ['base', { key: base.key, value: await model(base.value) }],
      ['models', { key: routed.key, value: await experts(routed.value) }],
      ...entriesOf({ sharedExperts: isEmpty ? undefined : await readEntry(shared, experts) }),
      ...renamed(entries, ofRecipe),
    ]),
  );
};
