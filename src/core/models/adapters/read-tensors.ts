import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import { isFloating } from '../../tensor/dtype.js';
import { elementsOf, type TensorReference } from '../../tensor/reference.js';
import type { Adapter, AdapterConfig, LowRankPair } from './adapter.js';
import { keyedKinds } from './kinds/kinds.js';
import { mostSmall } from './kinds/tuner.js';
import { scaleOf } from './peft-config.js';
import { parseAdapterTensor } from './tensor-names.js';
import { TunedModules } from './tuned-modules.js';

interface Named {
  readonly name: string;
  readonly tensor: TensorReference;
}

interface Factors {
  a?: Named;
  b?: Named;
  bias?: Named;
  beside?: Named;
  embedding: boolean;
}

/** Embeddings and heads, which PEFT saves whole if the vocabulary was resized. */
const vocabularyModule =
  /(^|\.)(embed_tokens|lm_head|wte|embed_in|embed_out|word_embeddings|tok_embeddings|embedding|output)$/;

/**
 * Sorts an adapter's tensors by the parameter that they change.
 *
 * @throws ADAPTER_INVALID, ADAPTER_UNSUPPORTED
 */
export const readAdapterTensors = (
  tensors: ReadonlyMap<string, TensorReference>,
  config: AdapterConfig,
  file: string,
): Pick<Adapter, 'pairs' | 'changes' | 'replaced' | 'added'> => {
  const modules = new Map<string, Factors>();
  const tuned = new TunedModules(config, file);
  const tuners = config.tuners.map(({ tuner }) => tuner);
  const replaced = new Map<string, Named>();
  for (const [name, tensor] of tensors) {
    const parsed = parseAdapterTensor(name, tuners);
    if (parsed.kind === 'unused') continue;
    if (parsed.kind === 'part') {
      tuned.add(parsed, { name, tensor });
      continue;
    }
    if (parsed.kind === 'beside' && parsed.name !== config.kind.beside)
      throw invalidAdapter(
        file,
        name,
        `needs ${keyOfBeside(parsed.name)} in adapter_config.json`,
        'save it again with PEFT',
      );
    if (parsed.kind === 'whole') {
      checkWhole(name, parsed, config, file);
      replaced.set(parsed.parameter, { name, tensor });
      continue;
    }
    const factors = modules.get(parsed.module) ?? { embedding: false };
    if (parsed.kind !== 'beside') factors.embedding = parsed.embedding;
    if (factors[parsed.kind] !== undefined)
      throw invalidAdapter(
        file,
        name,
        'stands twice, under two adapter names',
        'save one adapter alone with PEFT',
      );
    factors[parsed.kind] = { name, tensor };
    modules.set(parsed.module, factors);
  }
  const changes = tuned.read(replaced, modules);
  const pairs = new Map<string, LowRankPair>();
  const added = new Map<string, Named & { scale: number }>();
  const wrappers = wrappersOf(modules.keys());
  for (const [module, factors] of modules) {
    const { parameter, matched } = targetOf(module, wrappers, config, file);
    const pair = pairOf({ module, matched, isParameter: matched === parameter }, factors, config, file);
    const whole = replaced.get(parameter);
    // PEFT saves the weights below the factors as `base_layer`, for example of resized embeddings.
    if (whole !== undefined && !whole.name.includes('.base_layer.'))
      throw invalidAdapter(
        file,
        whole.name,
        'is saved whole, and its module has factors too; PEFT takes only one of the two',
        'leave the module out of modules_to_save or of target_modules, and save it again with PEFT',
      );
    pairs.set(parameter, pair);
    if (factors.bias === undefined) continue;
    if (!config.loraBias)
      throw invalidAdapter(
        file,
        factors.bias.name,
        'needs lora_bias in adapter_config.json',
        'save it again with PEFT',
      );
    added.set(`${module}.bias`, { ...factors.bias, scale: pair.scale });
  }
  return { pairs, changes, replaced, added };
};

const keyOfBeside = (name: string): string =>
  keyedKinds.find((kind) => kind.beside === name)?.key ?? 'another key';

/** Checks the extra tensor of an adapter kind: one number per output. */
const checkBeside = (beside: Named | undefined, b: Named, { kind }: AdapterConfig, file: string): void => {
  if (kind.beside === undefined) return;
  if (beside === undefined)
    throw invalidAdapter(
      file,
      b.name,
      `has no ${kind.beside} beside it`,
      'download or save the adapter again',
    );
  const { name, tensor } = beside;
  if (!isFloating(tensor.dtype) || elementsOf(tensor.shape) !== b.tensor.shape[0])
    throw invalidAdapter(
      file,
      name,
      `is ${tensor.dtype} [${tensor.shape.join(', ')}], and ${b.name} [${b.tensor.shape.join(', ')}]`,
      'download or save the adapter again',
    );
};

const invalidAdapter = (file: string, tensor: string, reason: string, remedy: string): LayerloomError =>
  new LayerloomError('ADAPTER_INVALID', { file, tensor, reason, remedy });

/** Refuses a whole tensor that the configuration does not expect. */
const checkWhole = (
  name: string,
  { parameter, module }: { readonly parameter: string; readonly module: string },
  config: AdapterConfig,
  file: string,
): void => {
  const isSaved = config.modulesToSave.some((saved) => `${module}.`.includes(`${saved}.`));
  const isBias = config.bias !== 'none' && parameter.endsWith('.bias');
  if (isSaved || isBias || (parameter.endsWith('.weight') && vocabularyModule.test(module))) return;
  throw invalidAdapter(
    file,
    name,
    'is neither of a module that the adapter changes nor of modules_to_save',
    'check that file and adapter_config.json belong together',
  );
};

/** Removes PEFT's wrappers from a module's name. PEFT nests one wrapper per adapted parameter. */
const unwrapped = (module: string): string => module.replaceAll('.base_layer', '');

const wrappersOf = (modules: Iterable<string>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const module of modules) counts.set(unwrapped(module), (counts.get(unwrapped(module)) ?? 0) + 1);
  return counts;
};

/** Expert parameters in the order in which PEFT wraps them, innermost first. */
const parameterOrder = ['gate_up_proj', 'gate_up_proj_bias', 'up_proj', 'down_proj', 'down_proj_bias'];

/**
 * Returns the parameter that a module's factors change: its weight, or one of `target_parameters`. PEFT matches
 * patterns against the module's name, or for `target_parameters` the parameter's name.
 */
const targetOf = (
  module: string,
  wrappers: ReadonlyMap<string, number>,
  { targetParameters, targetModules }: AdapterConfig,
  file: string,
): { readonly parameter: string; readonly matched: string } => {
  const own = unwrapped(module);
  const isBare = (target: string) => !target.includes('.');
  const bare = targetParameters.find(isBare);
  if (bare !== undefined && typeof targetModules === 'string')
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file,
      what: `target_parameters ${bare}`,
      reason: 'names no module, beside a target_modules that is a pattern, which is not supported',
    });
  const isTarget = Array.isArray(targetModules) && targetModules.some((one) => `.${own}`.endsWith(`.${one}`));
  const inModule = targetParameters.filter(
    (target) => !isBare(target) && `.${own}`.endsWith(`.${target.slice(0, target.lastIndexOf('.'))}`),
  );
  const anywhere = isTarget ? [] : targetParameters.filter(isBare);
  const count = wrappers.get(own) ?? 0;
  const named = (targets: readonly string[]) => [
    ...new Set(targets.map((target) => target.slice(target.lastIndexOf('.') + 1))),
  ];
  const meant = [named(inModule), named([...inModule, ...anywhere])].find(({ length }) => length === count);
  if (meant === undefined) {
    if (own === module && count === 1 && inModule.length + anywhere.length === 0)
      return { parameter: `${module}.weight`, matched: module };
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file,
      what: `target_parameters ${targetParameters.join(', ')}`,
      reason: `names other parameters of the module ${own} than it has factors for (${count}), which is not supported`,
    });
  }
  const unknown = meant.find((name) => !parameterOrder.includes(name));
  if (unknown !== undefined && count > 1)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file,
      what: `target_parameters ${targetParameters.join(', ')}`,
      reason: `names several parameters of the module ${own}, and the order of ${unknown} is not known`,
    });
  const inOrder = meant.toSorted((a, b) => parameterOrder.indexOf(a) - parameterOrder.indexOf(b));
  const depth = module.split('.base_layer').length - 1;
  const parameter = `${own}.${itemAt(inOrder, count - 1 - depth)}`;
  return { parameter, matched: parameter };
};

/** Checks the dimensions of factors. A convolution has [rank, in, kernel…] and [out, rank, 1…]. */
const checkConvolution = (
  a: Named,
  b: Named,
  of: { readonly embedding: boolean; readonly isParameter: boolean },
  { kind }: AdapterConfig,
  file: string,
): boolean => {
  const [dimensions, ofB] = [a.tensor.shape.length, b.tensor.shape.length];
  if (dimensions === 2 && ofB === 2) return false;
  if (dimensions !== ofB || dimensions > 5 || b.tensor.shape.slice(2).some((extent) => extent !== 1))
    throw invalidAdapter(
      file,
      b.name,
      `is [${b.tensor.shape.join(', ')}], which does not fit ${a.name} [${a.tensor.shape.join(', ')}]`,
      'download or save the adapter again',
    );
  if (of.embedding || of.isParameter || kind.noSum !== undefined || elementsOf(a.tensor.shape) > mostSmall)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file,
      what: `tensor ${a.name}`,
      reason: 'is of a convolution, beside another setting that is not supported for convolutions',
    });
  return true;
};

const pairOf = (
  {
    module,
    matched,
    isParameter,
  }: { readonly module: string; readonly matched: string; readonly isParameter: boolean },
  { a, b, beside, embedding }: Factors,
  config: AdapterConfig,
  file: string,
): LowRankPair => {
  if (a === undefined || b === undefined)
    throw invalidAdapter(
      file,
      (a ?? b)?.name ?? module,
      `has no ${a === undefined ? 'lora_A' : 'lora_B'} beside it`,
      'download or save the adapter again',
    );
  for (const { name, tensor } of [a, b]) {
    if (tensor.shape.length < 2 || tensor.shape.includes(0))
      throw invalidAdapter(
        file,
        name,
        `has the shape [${tensor.shape.join(', ')}], as parts that were not gathered have`,
        'gather the parameters of all processes before save_pretrained',
      );
    if (!isFloating(tensor.dtype))
      throw invalidAdapter(
        file,
        name,
        `is ${tensor.dtype}`,
        'save the adapter in bfloat16, float16 or float32',
      );
  }
  checkBeside(beside, b, config, file);
  const isConvolution = checkConvolution(a, b, { embedding, isParameter }, config, file);
  const rows = itemAt(a.tensor.shape, 0);
  if (itemAt(b.tensor.shape, 1) !== rows)
    throw invalidAdapter(
      file,
      b.name,
      `is [${b.tensor.shape.join(', ')}], which does not fit ${a.name} [${a.tensor.shape.join(', ')}]: their ranks differ`,
      'download or save the adapter again',
    );
  const configured = config.rankOf(matched);
  // The factors of several experts are stacked: `rows` is experts × rank.
  const experts = isParameter && rows % configured === 0 ? rows / configured : 1;
  if (experts > 1 && config.kind.beside !== undefined)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file,
      what: `tensor ${a.name}`,
      reason: `has factors of ${experts} experts together with ${config.kind.key}, which PEFT does not support either`,
    });
  const rank = rows / experts;
  if (experts > 1 && rank > 1 && config.expertPacking === undefined)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file,
      what: `tensor ${b.name}`,
      reason: `has factors of ${experts} experts, in an order that Unsloth changed and this file does not state`,
      remedy:
        'add "lora_B_layout" to adapter_config.json: "grouped_by_expert" if it was trained before Unsloth Zoo of 17 September 2026, else "rank_major"',
    });
  if (configured !== rank)
    throw invalidAdapter(
      file,
      a.name,
      `has rank ${rank}, against ${configured} in adapter_config.json (r, rank_pattern)`,
      'check that the two files belong together',
    );
  const alpha = config.alphaOf(matched);
  const packed = config.expertPacking === 'grouped_by_expert' && ({ grouped: true } as const);
  return {
    a: a.tensor,
    b: b.tensor,
    beside: beside?.tensor,
    names: { a: a.name, b: b.name },
    rank,
    alpha,
    scale: scaleOf(rank, alpha, config.rsLora),
    transposed: embedding || config.fanInFanOut,
    ...(isConvolution && { isConvolution }),
    ...(experts === 1 ? {} : { experts: { count: experts, row: 0, ...packed } }),
  };
};
