import { LayerloomError } from '../../base/errors.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/json.js';
import { classesIn, givesTokens, stemOfClass } from './classes.js';
import { type Family, familyOfType, typesIn } from './families.js';
import { mostLayers } from './layer-numbers.js';
import type { Role } from './role.js';
import { isTokenHead, roleInside, roleOutside } from './roles.js';
import { ambiguous, findStacks, type LayerName, type NameInStack, stackNamed } from './stacks.js';
import { saysTied } from './ties.js';

/** The position of a tensor in its model. */
export interface Place {
  /** Layer number, from 0 next to the embeddings; undefined outside the layers. */
  readonly layer: number | undefined;
  readonly role: Role;
  /** The part of the name after `layers.N.`, or the whole name outside the layers. */
  readonly module: string;
}

/** The architecture of a checkpoint, as its tensors' names and `config.json` tell it. */
export interface Architecture {
  /** `model_type` of `config.json`, or a guess from the tensor names. */
  readonly family: string;
  /**
   * The naming convention. Meta's and Hugging Face's checkpoints of one model permute the rows of q and k
   * differently.
   */
  readonly naming: 'huggingface' | 'meta';
  /** The number of layers. 0 if no tensor has a layer number, or if there are several candidate stacks. */
  readonly layers: number;
  /**
   * Candidates for the stack of layers, as the prefix of the layer numbers (`model.layers`): one in most
   * models.
   */
  readonly stacks: readonly string[];
  /**
   * True if the model uses its embeddings as head: by the bytes of both, by `config.json`, or because it stores no head.
   * Undefined if it stores a head, its `config.json` does not say, and the family's default is not known.
   */
  readonly tied: boolean | undefined;
  /** Tensors with role `other`. None if all names are those of a known family. */
  readonly unrecognised: readonly string[];
  readonly places: ReadonlyMap<string, Place>;
}

/**
 * Derives the architecture from the names of a checkpoint's tensors and its `config.json`. Families that
 * families.ts does not know work too, by the pattern `…layers.N.…` (or `h`, `blocks`) and the names of those that it
 * knows; the tensors whose role is unknown are listed in `unrecognised`.
 *
 * @param stack which stack of layers is meant, where there are several: `encoder`, `decoder`, or its whole prefix
 * @throws LayerloomError INVALID_PARAMETER for a stack that the model does not have; LAYER_MISSING beyond the layers that
 *   models have
 */
export const describeArchitecture = (checkpoint: CheckpointIndex, stack?: string): Architecture => {
  const names = [...checkpoint.tensors.keys()];
  const family = knownFamily(checkpoint);
  const { stacks: found, layerOf } = findStacks(names, family);
  const stacks = stack === undefined ? found : [stackNamed(found, stack, checkpoint.path)];
  const limit = draftLayersFrom(checkpoint);
  const describe = placer(family, found, stacks, layerOf, limit);
  const places = new Map(names.map((name) => [name, describe(name)]));
  const layers = 1 + [...places.values()].reduce((last, { layer = -1 }) => Math.max(last, layer), -1);
  if (layers > mostLayers) throw layerMissing(checkpoint.path, layers, presentIn(places));
  const isMeta = names.some((name) => /^(layers\.\d+\.attention\.wq|tok_embeddings)\.weight$/.test(name));
  const hasHead = [...places].some(([name, { role }]) => isTokenHead(name, role));
  return {
    family: familyName(checkpoint, isMeta),
    naming: isMeta ? 'meta' : 'huggingface',
    layers,
    stacks,
    tied: tyingOf(checkpoint, hasHead),
    unrecognised: [...places].filter(([, { role }]) => role === 'other').map(([name]) => name),
    places,
  };
};

/**
 * Checks that the model has exactly one stack of layers, with no layer missing.
 *
 * @throws LayerloomError NO_LAYERS, STACKS_AMBIGUOUS, LAYER_MISSING
 */
export const requireLayers = ({ stacks, layers, places }: Architecture, model: string): void => {
  if (stacks.length === 0) throw new LayerloomError('NO_LAYERS', { model });
  if (stacks.length > 1) throw ambiguous(model, stacks);
  const present = presentIn(places);
  if (present.size < layers) throw layerMissing(model, layers, present);
};

/** Returns a function from names to places. Layers of a stack that is not the one are outside the layers. */
const placer = (
  family: Family | undefined,
  found: readonly string[],
  stacks: readonly string[],
  layerOf: LayerName,
  limit: number,
): ((name: string) => Place) => {
  const all = new Set(found);
  const stack = stacks.length === 1 ? stacks[0] : undefined;
  const outside = (name: string, role: Role): Place => ({ layer: undefined, role, module: name });
  return (name) => {
    const inStack: NameInStack | undefined = layerOf(name);
    if (inStack === undefined || !all.has(inStack.stack)) return outside(name, roleOutside(family, name));
    if (family?.ofAllLayers?.test(name)) return outside(name, 'embedding');
    const { layer, module } = inStack;
    if (inStack.stack !== stack) return outside(name, roleInside(family, module));
    if (layer >= limit) return outside(name, 'tower');
    return { layer, role: roleInside(family, module), module };
  };
};

/**
 * Returns the first layer number that belongs to a draft head: models with multi-token prediction
 * (DeepSeek-V3, GLM-4.5) number its layers after the last of the model.
 */
const draftLayersFrom = ({ config }: CheckpointIndex): number => {
  const text = isObject(config?.['text_config']) ? config['text_config'] : config;
  const [layers, drafts] = [text?.['num_hidden_layers'], text?.['num_nextn_predict_layers']];
  return typeof drafts === 'number' && drafts > 0 && typeof layers === 'number'
    ? layers
    : Number.POSITIVE_INFINITY;
};

const knownFamily = ({ config }: CheckpointIndex): Family | undefined =>
  typesIn(config)
    .map(familyOfType)
    .find((family) => family !== undefined);

const familyName = ({ config }: CheckpointIndex, isMeta: boolean): string => {
  const [type] = typesIn(config);
  if (type !== undefined) return type;
  return isMeta ? 'llama (Meta names)' : 'unknown (no config.json)';
};

const tyingOf = ({ config, tied }: CheckpointIndex, hasHead: boolean): boolean | undefined => {
  if (tied !== undefined) return tied;
  const value = config?.['tie_word_embeddings'];
  if (typeof value === 'boolean') return value;
  // A class without a head of tokens ties nothing.
  const [name] = classesIn(config);
  if (!hasHead)
    return name !== undefined && stemOfClass(name) !== undefined && !givesTokens(name) ? undefined : true;
  return config === undefined ? false : saysTied(config);
};

const presentIn = (places: Architecture['places']): ReadonlySet<number> =>
  new Set([...places.values()].flatMap(({ layer }) => layer ?? []));

/** The first layer that is not there; of more layers than models have, the one behind them. */
const layerMissing = (model: string, layers: number, present: ReadonlySet<number>): LayerloomError => {
  let layer = 0;
  while (layer < mostLayers && present.has(layer)) layer += 1;
  return new LayerloomError('LAYER_MISSING', { model, layer, layers });
};
