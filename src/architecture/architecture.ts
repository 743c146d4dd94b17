import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/json.js';
import { LayerloomError } from '../errors.js';
import { otherTower, type Role, roleInside, roleOutside } from './roles.js';

/** Where a tensor stands in its model. */
export interface Place {
  /** 0 is next to the embeddings; undefined outside the layers. */
  readonly layer: number | undefined;
  readonly role: Role;
  /** The name behind `layers.N.`, or the whole name outside the layers. */
  readonly module: string;
}

export interface Architecture {
  /** `model_type` of `config.json`, else what the names look like. */
  readonly family: string;
  /** The names' convention. Meta's and Hugging Face's checkpoints of one model permute q and k rows differently. */
  readonly naming: 'huggingface' | 'meta';
  /** L: layers are 0 … L−1. 0 where no tensor has a layer number, or where several stacks could be meant. */
  readonly layers: number;
  /** What stands before the layer numbers (`model.layers`): one candidate, none, or several that cannot be told apart. */
  readonly stacks: readonly string[];
  /**
   * Whether the model uses its embeddings as head, by `config.json` or else for lack of a head. Undefined where a head is stored and the
   * configuration leaves the matter to its class.
   */
  readonly tied: boolean | undefined;
  /** Tensors whose role no known family explains. None: the family is known. */
  readonly unrecognised: readonly string[];
  readonly places: ReadonlyMap<string, Place>;
}

const layerNumber = /^(?<stack>(?:.*?\.)?(?:layers|h|blocks))\.(?<layer>\d+)\.(?<module>.+)$/;

/**
 * Reads the architecture off the names of a checkpoint's tensors. Families that `roles.ts` does not know work by the pattern
 * `…layers.N.…` (or `h`, `blocks`) alone; `unrecognised` then says which tensors it could not explain.
 */
export const describeArchitecture = (checkpoint: CheckpointIndex): Architecture => {
  const names = [...checkpoint.tensors.keys()];
  const stacks = findStacks(names);
  const stack = stacks.length === 1 ? stacks[0] : undefined;
  const limit = draftLayersFrom(checkpoint);
  const places = new Map(names.map((name) => [name, placeOf(name, stack, limit)]));
  const isMeta = names.some((name) => /^(layers\.\d+\.attention\.wq|tok_embeddings)\.weight$/.test(name));
  const hasHead = [...places.values()].some(({ role }) => role === 'head');
  return {
    family: familyOf(checkpoint, isMeta),
    naming: isMeta ? 'meta' : 'huggingface',
    layers: 1 + [...places.values()].reduce((last, { layer = -1 }) => Math.max(last, layer), -1),
    stacks,
    tied: tyingOf(checkpoint, hasHead),
    unrecognised: [...places].filter(([, { role }]) => role === 'other').map(([name]) => name),
    places,
  };
};

/**
 * Asks that the model have one stack of layers and every layer of it.
 *
 * @throws LayerloomError NO_LAYERS, STACKS_AMBIGUOUS, LAYER_MISSING
 */
export const requireLayers = ({ stacks, layers, places }: Architecture, model: string): void => {
  if (stacks.length === 0) throw new LayerloomError('NO_LAYERS', { model });
  if (stacks.length > 1) throw new LayerloomError('STACKS_AMBIGUOUS', { model, stacks });
  const present = new Set([...places.values()].map(({ layer }) => layer));
  // Names are not to be trusted with a loop over as many layers as they say: the first that is missing is enough.
  for (let layer = 0; layer < layers; layer += 1)
    if (!present.has(layer)) throw new LayerloomError('LAYER_MISSING', { model, layer, layers });
};

const findStacks = (names: readonly string[]): string[] => {
  const stacks = new Set<string>();
  for (const name of names) {
    const stack = layerNumber.exec(name)?.groups?.['stack'];
    if (stack !== undefined) stacks.add(stack);
  }
  const ofLanguage = [...stacks].filter((stack) => !otherTower.test(stack)).sort();
  return ofLanguage.length > 0 ? ofLanguage : [...stacks].sort();
};

const placeOf = (name: string, stack: string | undefined, limit: number): Place => {
  const groups = layerNumber.exec(name)?.groups;
  if (groups === undefined || groups['stack'] !== stack)
    return { layer: undefined, role: roleOutside(name), module: name };
  const [layer, module = ''] = [Number(groups['layer']), groups['module']];
  if (layer >= limit) return { layer: undefined, role: 'tower', module: name };
  return { layer, role: roleInside(module), module };
};

/** Models that predict further tokens (DeepSeek-V3, GLM-4.5) number their draft head as layers behind the last. */
const draftLayersFrom = ({ config }: CheckpointIndex): number => {
  const text = isObject(config?.['text_config']) ? config['text_config'] : config;
  const [layers, drafts] = [text?.['num_hidden_layers'], text?.['num_nextn_predict_layers']];
  return typeof drafts === 'number' && drafts > 0 && typeof layers === 'number'
    ? layers
    : Number.POSITIVE_INFINITY;
};

const familyOf = ({ config }: CheckpointIndex, isMeta: boolean): string => {
  const modelType = config?.['model_type'];
  if (typeof modelType === 'string') return modelType;
  return isMeta ? 'llama (Meta names)' : 'unknown (no config.json)';
};

const tyingOf = ({ config }: CheckpointIndex, hasHead: boolean): boolean | undefined => {
  const value = config?.['tie_word_embeddings'];
  if (typeof value === 'boolean') return value;
  if (!hasHead) return true;
  return config === undefined ? false : undefined;
};
