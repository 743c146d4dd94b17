import { itemAt } from '../../base/errors/lookup.js';
import { tensorParameters } from '../../methods/framework/declaration/parameter-facts.js';
import { snakeCase } from '../../methods/framework/tensors/tensor-method.js';
import { isBuiltIn, methods } from '../../methods/index.js';
import { parseDtype, torchName } from '../../tensor/dtype.js';
import { movesRows, tensorOf } from '../operands.js';
import type { MergePlan } from '../plan.js';
import { differencesOf, refusalOf } from './mergekit-differences.js';
import { modelEntry, modelOf, textOfModel, withAdapters, withBase } from './mergekit-models.js';
import { mergekitMoe } from './mergekit-moe.js';
import { averagesIn } from './mergekit-slices.js';
import { cannotSay } from './mergekit-unsupported.js';
import { recipeFrom } from './own-recipe.js';

type Json = Readonly<Record<string, unknown>>;

export interface MergekitRecipe {
  readonly recipe: Json;
  readonly notes: readonly string[];
}

const averages: ReadonlySet<string> = new Set(['layer_swap', 'soup', 'revert']);

/** Methods with random numbers, which differ in mergekit. */
const drawing: ReadonlySet<string> = new Set(['dare_ties', 'dare_linear', 'della', 'della_linear']);

/**
 * Writes a plan's recipe for mergekit, with float32 arithmetic and the plan's dtype.
 *
 * @param folder that relative paths start from
 * @throws EXPORT_UNSUPPORTED, naming a feature that mergekit lacks
 */
export const mergekitRecipe = (plan: MergePlan, folder: string): MergekitRecipe => {
  const { recipe, notes } = written(plan, recipeFrom(plan, folder));
  const refusal = 'merge_method' in recipe ? refusalOf(plan) : [];
  return { recipe: withAdapters(recipe, plan.inputs, folder), notes: [...notes, ...refusal] };
};

const written = (plan: MergePlan, complete: Json): MergekitRecipe => {
  // Leaves out `allow_non_finite`, because mergekit always computes with NaN and infinity.
  const { method, layout, max_shard_size: shardSize, allow_non_finite: _, ...rest } = complete;
  const name = String(method);
  if (plan.form === 'adapter')
    cannotSay('an adapter as the output', 'it merges whole models: give each adapter as BASE+ADAPTER');
  if (layout !== undefined || shardSize !== undefined)
    cannotSay(
      layout === undefined ? 'max_shard_size' : 'layout',
      'shards are no part of its recipes; leave it out, and give mergekit --out-shard-size',
    );
  if (rest['stack'] !== undefined)
    cannotSay('one stack of several', 'its slices are of models with one; merge with layerloom');
  if (rest['quantize'] !== undefined)
    cannotSay('a quantised output', 'mergekit writes none: leave it out, and quantise its output');
  if (name === 'transplant')
    cannotSay('a transplant', 'its program mergekit-tokensurgeon has options and no recipe');
  if (unitesVocabularies(plan) && (rest['tokenizer_source'] ?? rest['tokenizer']) === undefined)
    cannotSay(
      'that vocabularies are united where ids agree',
      'give the recipe tokenizer_source: union, base or a model',
    );
  if (name === 'mixture') {
    const notes = [
      'this is a file of mergekit-moe, which makes routers of prompts itself and ignores gates and seed',
      ...(drawsNumbers(plan) ? ['mergekit-moe draws other random numbers, so that its result differs'] : []),
    ];
    return { recipe: mergekitMoe(rest), notes };
  }
  const common = { ...dtypesOf(plan), ...tokenizerOf(rest) };
  if (averages.has(name)) {
    const notes = addsInOtherOrder(plan)
      ? ['mergekit adds averages of three or more models in another order, so that last bits differ']
      : [];
    return { recipe: { ...averagesIn(plan, rest), ...common }, notes };
  }
  const known = methods.get(name);
  const parameters = known === undefined ? undefined : tensorParameters(known);
  if (!isBuiltIn(name) || parameters === undefined)
    return cannotSay(`method ${name}`, 'mergekit has no such method');
  const names = new Set([...parameters.keys()].map(snakeCase));
  if (rest['dialect'] !== undefined && rest['dialect'] !== 'mergekit')
    cannotSay(`dialect ${String(rest['dialect'])} of ${name}`, 'mergekit has its own alone');
  const usesBase = known?.takes.base === 'required' || !ignoresBase.has(name);
  const recipe = tensorRecipe(rest, names, { usesBase, fromMergekit: rest['dialect'] === 'mergekit' });
  return {
    recipe: { merge_method: name, ...recipe, ...common },
    notes: [
      ...(drawing.has(name) ? ['mergekit draws other random numbers, so that its result differs'] : []),
      ...differencesOf(plan, name, rest['slices'] as readonly Json[] | undefined),
    ],
  };
};

const unitesVocabularies = ({ shards }: MergePlan): boolean =>
  shards.some(({ tensors }) => tensors.some(({ expression }) => movesRows(expression)));

/** True if mergekit would add three or more models in another order than the inputs'. */
const addsInOtherOrder = ({ shards }: MergePlan): boolean =>
  shards.some(({ tensors }) =>
    tensors.some(({ expression }) => {
      if (expression.kind !== 'linear' || expression.terms.length < 3) return false;
      const inputs = expression.terms.map(({ source }) => tensorOf(source)?.input ?? -1);
      return inputs.some((input, index) => index > 0 && input < itemAt(inputs, index - 1));
    }),
  );

const drawsNumbers = ({ shards }: MergePlan): boolean =>
  shards.some(({ tensors }) => tensors.some(({ expression: { kind } }) => kind === 'random'));

/** Methods whose `base_model` in mergekit is a merged model, or only gives the tokenizer. */
const ignoresBase: ReadonlySet<string> = new Set(['linear', 'passthrough', 'karcher']);

const tensorRecipe = (
  given: Json,
  names: ReadonlySet<string>,
  { usesBase, fromMergekit }: { usesBase: boolean; fromMergekit: boolean },
): Json => {
  const { base, weights, models, slices } = given as {
    base?: unknown;
    weights?: readonly number[];
    models?: readonly unknown[];
    slices?: readonly Json[];
  };
  const pick = (of: Json): Json => {
    const own = Object.entries(of).filter(([key]) => names.has(key));
    return own.length === 0 ? {} : { parameters: Object.fromEntries(own.map(setting)) };
  };
  const entries = models?.map((model, index) => {
    const weight = weights?.[index];
    const own = modelEntry(model);
    return { model: modelOf(own['model']), ...pick(weight === undefined ? own : { weight, ...own }) };
  });
  const stacked = slices?.map(({ sources, base: own, ...rest }) => {
    const listed = (sources as readonly Json[]).map(({ model, layer_range, ...parameters }) => ({
      model: modelOf(model),
      layer_range,
      ...pick(parameters),
    }));
    const from = own ?? base;
    return {
      sources: usesBase && from !== undefined ? withBase(listed, from) : listed,
      ...(own === undefined ? {} : { base_model: modelOf(own) }),
      ...pick(rest),
    };
  });
  // Without `base_model`, mergekit takes configuration and tokenizer from an arbitrary model.
  const first = entries?.[0]?.model ?? stacked?.[0]?.sources[0]?.model;
  const donor =
    base !== undefined && (usesBase || fromMergekit) ? modelOf(base) : usesBase ? undefined : first;
  return {
    ...(donor === undefined ? {} : { base_model: donor }),
    ...(entries === undefined ? { slices: stacked } : { models: entries }),
    ...pick(given),
  };
};

/** Writes a setting; refuses extensions that mergekit cannot express. */
const setting = ([key, value]: [string, unknown]): [string, unknown] => {
  if (key !== 'rescale') return [key, value];
  const text = JSON.stringify(value);
  if (text.includes('"density"'))
    cannotSay('rescale: density', 'mergekit restores the norm of task vectors: give rescale: true or false');
  return [key, JSON.parse(text.replaceAll('"norm"', 'true')) as unknown];
};

const isFloat = (dtype: string): boolean => ['BF16', 'F16', 'F32', 'F64'].includes(dtype);

const dtypesOf = ({ shards }: MergePlan): Json => {
  const found = new Set(
    shards.flatMap(({ tensors }) => tensors.map(({ dtype }) => dtype)).filter((dtype) => /^B?F/.test(dtype)),
  );
  const [dtype, other] = [...found];
  if (other !== undefined)
    cannotSay(`an output of several dtypes (${[...found].join(', ')})`, 'give the recipe one dtype');
  const parsed = dtype === undefined || !isFloat(dtype) ? undefined : parseDtype(dtype);
  if (parsed === undefined)
    return cannotSay(`dtype ${String(dtype)}`, 'give the recipe bfloat16, float16, float32 or float64');
  const name = torchName(parsed);
  return name === 'float32' || name === 'float64' ? { dtype: name } : { dtype: 'float32', out_dtype: name };
};

const tokenizerOf = ({ tokenizer_source: short, tokenizer, chat_template: template }: Json): Json => {
  const sourceOf = (source: unknown): unknown => {
    if (source === 'auto' || source === 'strict')
      cannotSay(`tokenizer_source ${source}`, 'give union, base or a model, or leave it out');
    return source === 'base' || source === 'union' ? source : modelOf(source);
  };
  const chat = template === undefined ? {} : { chat_template: template };
  if (tokenizer === undefined)
    return { ...(short === undefined ? {} : { tokenizer_source: sourceOf(short) }), ...chat };
  const { source, tokens, ...rest } = tokenizer as Json & { tokens?: readonly Json[] };
  return {
    tokenizer: {
      source: sourceOf(source ?? short ?? 'union'),
      ...(tokens === undefined
        ? {}
        : { tokens: Object.fromEntries(tokens.map((token) => [String(token['token']), tokenIn(token)])) }),
      ...rest,
    },
    ...chat,
  };
};

const tokenIn = ({ source, force }: Json): Json => ({
  ...(source === undefined ? {} : { source: embeddingOf(source) }),
  ...(force === undefined ? {} : { force }),
});

const embeddingOf = (source: unknown): unknown => {
  if (typeof source === 'string') return textOfModel(source);
  const of = source as Json;
  if (of['zero'] === true) return { kind: 'zero' };
  return { kind: 'model_token', ...of, model: modelOf(of['model']) };
};
