import { pathToFileURL } from 'node:url';
import { LayerloomError, reasonOf } from '../../base/errors/errors.js';
import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { shipped } from '../../base/files/shipped.js';
import type { Architecture } from '../../models/architecture/architecture.js';
import { isFloating } from '../../tensor/dtype.js';
import type { TensorReference } from '../../tensor/reference.js';
import { LibraryThread, TookTooLong } from '../../texts/in-thread.js';

/** Weights that an adapter gets. Patterns are regular expressions, searched in module names. */
export interface Choice {
  /**
   * Weights to factorise. Default: linear weights of attention and feed-forward to which PEFT gives factors.
   */
  readonly modules?: readonly string[] | undefined;
  /** Weights not to factorise. */
  readonly exclude?: readonly string[] | undefined;
  /** Also factorise embeddings and head. */
  readonly embedLora?: boolean | undefined;
  /** Modules to save whole: names, or last parts of names (`lm_head`, `input_layernorm`). */
  readonly saveModules?: readonly string[] | undefined;
}

/** Names of tensors; each is in exactly one list. */
export interface Chosen {
  readonly factorised: readonly string[];
  readonly saved: readonly string[];
  readonly others: readonly string[];
}

export const moduleOf = (tensor: string): string => tensor.replace(/\.(weight|bias)$/, '');

/** True if `name` is the module's name or its last parts. PEFT compares names in this way. */
export const isNamed = (module: string, name: string): boolean =>
  module === name || module.endsWith(`.${name}`);

/**
 * @param isAdaptable true for matrices to which PEFT gives factors
 * @throws INVALID_PARAMETER
 */
export const chooseTensors = async (
  tensors: ReadonlyMap<string, TensorReference>,
  { places }: Architecture,
  { modules, exclude = [], embedLora = false, saveModules = [] }: Choice,
  isAdaptable: (tensor: string) => boolean,
): Promise<Chosen> => {
  const names = [...new Set([...tensors.keys()].map(moduleOf))];
  const included = modules === undefined ? undefined : await matching('modules', modules, names);
  const excluded = await matching('exclude', exclude, names);
  const roleOf = (name: string) => places.get(name)?.role ?? 'other';
  const isFactorised = (name: string, { shape }: TensorReference): boolean => {
    const [module, role] = [moduleOf(name), roleOf(name)];
    if (!name.endsWith('.weight') || shape.length !== 2 || shape.includes(0)) return false;
    if (role === 'buffer' || excluded.has(module)) return false;
    if (role === 'embedding') return embedLora;
    if (included !== undefined) return included.has(module);
    if (role === 'head') return embedLora;
    return (role === 'attention' || role === 'feedForward') && isAdaptable(name);
  };
  const chosen = { factorised: [] as string[], saved: [] as string[], others: [] as string[] };
  for (const [name, reference] of tensors) {
    if (!isFloating(reference.dtype)) continue;
    const isSaved = saveModules.some((module) => isNamed(moduleOf(name), module));
    if (isSaved) chosen.saved.push(name);
    else if (isFactorised(name, reference)) chosen.factorised.push(name);
    else chosen.others.push(name);
  }
  for (const module of saveModules)
    if (!chosen.saved.some((name) => isNamed(moduleOf(name), module)))
      throw invalidParameter('saveModules', module, 'the name of a module of the expert, or its end');
  if (chosen.factorised.length === 0)
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: modules === undefined ? 'exclude' : 'modules',
      value: modules ?? exclude,
      expected: 'patterns that leave at least one linear weight to extract',
    });
  return chosen;
};

const seconds = 2;

const matching = async (
  parameter: string,
  expressions: readonly string[],
  names: readonly string[],
): Promise<ReadonlySet<string>> => {
  if (expressions.length === 0) return new Set();
  const thread = new LibraryThread(pathToFileURL(shipped('dist/core/texts/expressions.cjs')));
  try {
    const found = (await thread.call('found', [expressions, names], seconds)) as string[][];
    return new Set(found.flat());
  } catch (cause) {
    if (cause instanceof LayerloomError) throw cause;
    // Flag `u` makes Python-only syntax (`\Z`, `{,2}`, `[]x]`) an error; otherwise it would be misread.
    const expected =
      cause instanceof TookTooLong
        ? 'regular expressions that take less time over the names of tensors'
        : `regular expressions (${reasonOf(cause)})`;
    throw new LayerloomError('INVALID_PARAMETER', { parameter, value: expressions, expected }, { cause });
  } finally {
    await thread.end();
  }
};
