import { LayerloomError } from '../../base/errors.js';
import type { CheckpointIndex } from '../../checkpoint/checkpoint.js';
import { isObject } from '../../checkpoint/json.js';
import { otherTower, type Role, roleInside, roleOutside } from './roles.js';

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
   * True if the model uses its embeddings as head: by `config.json`, or because it stores no head. Undefined
   * if it stores a head and its `config.json` does not say, since the default then depends on the model
   * class.
   */
  readonly tied: boolean | undefined;
  /** Tensors with role `other`. None if roles.ts knows the family. */
  readonly unrecognised: readonly string[];
  readonly places: ReadonlyMap<string, Place>;
}

const layerNumber = /^(?<stack>(?:.*?\.)?(?:layers|h|blocks))\.(?<layer>\d+)\.(?<module>.+)$/;

/**
 * Derives the architecture from the names of a checkpoint's tensors and its `config.json`. Families that
 * roles.ts does not know work too, by the pattern `…layers.N.…` (or `h`, `blocks`); the tensors whose role is
 * unknown are listed in `unrecognised`.
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
 * Checks that the model has exactly one stack of layers, with no layer missing.
 *
 * @throws LayerloomError NO_LAYERS, STACKS_AMBIGUOUS, LAYER_MISSING
 */
export const requireLayers = ({ stacks, layers, places }: Architecture, model: string): void => {
  if (stacks.length === 0) throw new LayerloomError('NO_LAYERS', { model });
  if (stacks.length > 1) throw new LayerloomError('STACKS_AMBIGUOUS', { model, stacks });
  const present = new Set([...places.values()].map(({ layer }) => layer));
  // Stops at the first missing layer, since a layer number in a name may be huge.
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
