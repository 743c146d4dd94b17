import { LayerloomError } from '../../base/errors/errors.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/files/json.js';
import { classesIn, givesTokens, stemOfClass } from './classes.js';
import { type Family, familyOfType, typesIn } from './families.js';
import { mostLayers } from './layer-numbers.js';
import type { Role } from './role.js';
import { isTokenHead, roleInside, roleOutside } from './roles.js';
import { ambiguous, findStacks, type LayerName, type NameInStack, stackNamed } from './stacks.js';
import { saysTied } from './ties.js';

/** A tensor's position in its model. */
export interface Place {
  /** Layer number, counted from the embeddings; undefined outside the layers. */
  readonly layer: number | undefined;
  readonly role: Role;
  /** The name after `layers.N.`; outside the layers the whole name. */
  readonly module: string;
}

/** A checkpoint's architecture, derived from tensor names and `config.json`. */
export interface Architecture {
  /** `model_type` in `config.json`, or a guess from tensor names. */
  readonly family: string;
  /** Naming convention. Meta's checkpoints also order rows of q and k differently. */
  readonly naming: 'huggingface' | 'meta';
  /** Number of layers; 0 without layer numbers, or if several stacks are possible. */
  readonly layers: number;
  /** Prefixes of layer numbers, such as `model.layers`, one per stack. Most models have one stack. */
  readonly stacks: readonly string[];
  /**
   * True if the head equals the embeddings: by their bytes, by `config.json`, or because no head is stored.
   * Undefined if a head is stored and neither `config.json` nor the family's default decides.
   */
  readonly tied: boolean | undefined;
  /** Tensors with role `other`. */
  readonly unrecognised: readonly string[];
  readonly places: ReadonlyMap<string, Place>;
}

/**
 * Derives the architecture from tensor names and `config.json`. Unknown families are recognised by the
 * pattern `…layers.N.…` (or `h`, `blocks`) and by known families' names.
 *
 * @param stack selects one of several stacks: `encoder`, `decoder`, or the whole prefix
 * @throws INVALID_PARAMETER for an unknown stack; LAYER_MISSING above the limit on layers
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
 * Checks that the model has exactly one stack, and that no layer is missing.
 *
 * @throws NO_LAYERS, STACKS_AMBIGUOUS, LAYER_MISSING
 */
export const requireLayers = ({ stacks, layers, places }: Architecture, model: string): void => {
  if (stacks.length === 0) throw new LayerloomError('NO_LAYERS', { model });
  if (stacks.length > 1) throw ambiguous(model, stacks);
  const present = presentIn(places);
  if (present.size < layers) throw layerMissing(model, layers, present);
};

/** Returns a function that maps names to places. Other stacks' layers count as outside the layers. */
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

/** Returns the first number of draft layers (DeepSeek-V3, GLM-4.5), which follow the model's own. */
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
  // Without a token head, a class ties no embeddings.
  const [name] = classesIn(config);
  if (!hasHead)
    return name !== undefined && stemOfClass(name) !== undefined && !givesTokens(name) ? undefined : true;
  return config === undefined ? false : saysTied(config);
};

const presentIn = (places: Architecture['places']): ReadonlySet<number> =>
  new Set([...places.values()].flatMap(({ layer }) => layer ?? []));

const layerMissing = (model: string, layers: number, present: ReadonlySet<number>): LayerloomError => {
  let layer = 0;
  while (layer < mostLayers && present.has(layer)) layer += 1;
  return new LayerloomError('LAYER_MISSING', { model, layer, layers });
};
