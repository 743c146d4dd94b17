import { isObject } from '../../../checkpoint/files/json.js';
import { from, last, lastOfEach, rule } from './numbers.js';
import { type Described, indices, letters, list, meaningOf, type Saying, Unsaid } from './saying.js';
import { readTrait, type Trait } from './trait.js';

export const [full, sliding, linear] = ['full_attention', 'sliding_attention', 'linear_attention'];
export const [dense, sparse] = ['dense', 'sparse'];

const layerTypes = list('layer_types');
const mlpTypes = list('mlp_layer_types');
export const all = (word: string) => rule(() => word);
export const every = (period: number, usual: string, other: string) =>
  rule((layer) => ((layer + 1) % period === 0 ? other : usual));

/** The kind of attention: from `layer_types`, or as loaders otherwise derive it. */
export const types = (...otherwise: Saying[]): Trait => ({ says: [layerTypes, ...otherwise] });
/** The kind of feed-forward part: from `mlp_layer_types`, or as loaders otherwise derive it. */
export const mlps = (...otherwise: Saying[]): Trait => ({ says: [mlpTypes, ...otherwise] });
export const firstDense = (otherwise: number | undefined, key = 'first_k_dense_replace') =>
  from(key, otherwise, [dense, sparse]);
/** Dense layers, then mixtures at multiples of `moe_layer_freq`, which loaders read but do not write. */
export const denseThenEach = rule(
  (layer, _layers, { section }) =>
    layer >= Number(section['first_k_dense_replace'] ?? 1) &&
    layer % Number(section['moe_layer_freq'] ?? 1) === 0
      ? sparse
      : dense,
  ['first_k_dense_replace', 'moe_layer_freq'],
);
export const onlyFirstDense = rule((layer) => (layer === 0 ? dense : sparse));

/** Refuses models whose first layer has other tensors than the rest, or computes differently, if `isSo`. */
export const firstDiffersIf = (key: string, isSo: (described: Described) => boolean): Trait => ({
  says: [rule((layer, _layers, described) => isSo(described) && layer === 0, [key])],
  because: 'makes the first layer unlike the others: it can stand first only, and no other can',
});
export const firstDiffers = firstDiffersIf('model_type', () => true);
export const lastDiffers = (key: string): Trait => ({
  says: [rule((layer, layers) => layer === layers - 1, [key])],
  because: 'makes the last layer unlike the others: it can stand last only, and no other can',
});
/** A layer's computation depends on its index and the number of layers. */
export const byItsNumber = (key: string, isSo: (described: Described) => boolean = () => true): Trait => ({
  says: [rule((layer, layers, given) => (isSo(given) ? `${layer} of ${layers}` : 'any'), [key])],
  because: 'makes layers compute with their number, so that none can stand in the place of another',
});
export const byTheirNumber = (key: string, isSo: (described: Described) => boolean = () => true): Trait => ({
  says: [rule((_layer, layers, given) => (isSo(given) ? layers : 'any'), [key])],
  because: 'makes layers compute with the number of layers, which cannot change',
});

/** Sliding windows from a layer on, if enabled, as in Qwen 2. */
export const windowsFrom = (otherwise: number) =>
  rule((layer, _layers, { section }) =>
    section['use_sliding_window'] === true &&
    section['sliding_window'] !== null &&
    layer >= Number(section['max_window_layers'] ?? otherwise)
      ? sliding
      : full,
  );

/** Qwen's mixtures: the last layer of each step, except listed layers. */
export const stepwise: Trait = {
  says: [
    {
      keys: ['mlp_only_layers', 'decoder_sparse_step'],
      read: ({ section, layers }) => {
        const [listed, step] = [section['mlp_only_layers'] ?? [], section['decoder_sparse_step'] ?? 1];
        if (!Array.isArray(listed) || !Number.isInteger(step) || Number(step) < 1) return undefined;
        const left = new Set<unknown>(listed);
        return Array.from({ length: layers }, (_, layer) =>
          !left.has(layer) && (layer + 1) % Number(step) === 0 ? sparse : dense,
        );
      },
      write: (values, { section }) => {
        const step = Number(section['decoder_sparse_step'] ?? 1);
        const fits = values.every((value, layer) => value === dense || (layer + 1) % step === 0);
        const kept = fits ? step : 1;
        const left = values.flatMap((value, layer) =>
          value === dense && (layer + 1) % kept === 0 ? [layer] : [],
        );
        return {
          ...(fits ? {} : { decoder_sparse_step: 1 }),
          ...(left.length === 0 && !('mlp_only_layers' in section) ? {} : { mlp_only_layers: left }),
        };
      },
    },
  ],
};

/** The layer whose indexer a layer uses: itself, or the previous layer. */
export const indexers: Trait = {
  says: [
    list('indexer_types'),
    letters('index_topk_pattern', { F: 'full', S: 'shared' }),
    rule(
      (layer, _layers, { section }) => {
        const period = Math.max(Number(section['index_topk_freq'] ?? 1), 1);
        const offset = Number(section['index_skip_topk_offset'] ?? 2);
        return Math.max(layer - offset + 1, 0) % period === 0 ? 'full' : 'shared';
      },
      ['index_topk_freq', 'index_skip_topk_offset'],
    ),
  ],
};

/** Image features added to the outputs of the first layers, as in Qwen 3-VL. */
export const deepstack: Trait = {
  says: [
    rule(
      (layer, _layers, { root }) => {
        const vision = root['vision_config'];
        const listed = isObject(vision) ? (vision['deepstack_visual_indexes'] ?? [8, 16, 24]) : [];
        const count = Array.isArray(listed) ? listed.length : 0;
        return layer < count ? `pictures' features ${layer}` : 'none';
      },
      ['deepstack_visual_indexes'],
    ),
  ],
  because: 'adds features of pictures to the output of so many first layers, which must stay first',
};

/** The last layers reuse keys and values of the last earlier layer of their kind, which must exist. */
export const sharedKeys = (otherwise: number): Trait => {
  const count = last('num_kv_shared_layers', otherwise, ['own keys', 'shared keys']);
  return {
    says: [
      {
        ...count,
        read: (described) => {
          const shared = count.read(described);
          const kinds = layerTypes.read(described);
          const own = new Set(kinds?.filter((_, layer) => shared?.[layer] === 'own keys'));
          if (own.size > 0 && kinds?.some((kind) => !own.has(kind)))
            throw new Unsaid(
              'num_kv_shared_layers',
              'needs a layer of each kind before those that share its keys',
            );
          return shared;
        },
      },
    ],
  };
};
/** Embedding tables with columns for each layer. Stacking would have to reorder these columns. */
export const perLayerInputs = (otherwise: number): Trait =>
  byItsNumber(
    'hidden_size_per_layer_input',
    ({ section }) => Number(section['hidden_size_per_layer_input'] ?? otherwise) > 0,
  );
/** Gemma 4's last layer has full attention, whatever the list says. */
export const lastIsFull: Trait = {
  says: [
    {
      ...layerTypes,
      read: (described) => {
        const found = layerTypes.read(described);
        return found?.map((value, layer) => (layer === found.length - 1 ? full : value));
      },
    },
    rule((layer, layers) => ((layer + 1) % 6 === 0 || layer === layers - 1 ? full : sliding)),
  ],
};

export const window = (pattern: number): Trait =>
  types(lastOfEach('sliding_window_pattern', pattern, [sliding, full]));
export const scaledByNumber = byItsNumber(
  'scale_attn_by_inverse_layer_idx',
  ({ section }) => section['scale_attn_by_inverse_layer_idx'] === true,
);
export const noRope: Trait = {
  says: [list('no_rope_layers'), lastOfEach('no_rope_layer_interval', 4, [1, 0])],
};
export const indexed = types(all('indexed_attention'));
export const hasRope = (described: Described): readonly unknown[] => readTrait(noRope, described) ?? [];

/** NLLB's mixtures: the last layer of each step. */
export const steps = (side: 'encoder' | 'decoder'): Trait => ({
  of: side,
  says: [lastOfEach(`${side}_sparse_step`, 4, [dense, sparse])],
});
/** Switch's mixtures, whose step depends on the number of mixtures. */
export const switched = (side: 'encoder' | 'decoder'): Trait => ({
  of: side,
  says: [
    rule(
      (layer, layers, { section }) => {
        const count = Number(section[`num_sparse_${side}_layers`] ?? 3);
        const step = count > 0 ? Math.floor(layers / count) : layers;
        return step === 1 || (step > 0 && layer % step === 1) ? sparse : dense;
      },
      [`num_sparse_${side}_layers`],
    ),
  ],
});

/** Kimi's dictionary of lists of layers, which are numbered from 1. */
export const kimiLists: Saying = {
  keys: ['linear_attn_config'],
  read: (described) => {
    const listed = described.section['linear_attn_config'];
    if (!isObject(listed) || !Array.isArray(listed['kda_layers'])) return undefined;
    return indices('full_attn_layers', [linear, full], 1).read({ ...described, section: listed });
  },
  write: (values, { section }) => {
    const listed = section['linear_attn_config'];
    const numbersOf = (kind: string) => values.flatMap((value, layer) => (value === kind ? [layer + 1] : []));
    return isObject(listed)
      ? {
          linear_attn_config: {
            ...listed,
            full_attn_layers: numbersOf(full),
            kda_layers: numbersOf(linear),
          },
        }
      : undefined;
  },
};

const kvSources = list('kv_source_layers');
/** The layer whose keys and values a layer uses (`kv_source_layers`); usually its own. */
export const keySources: Trait = {
  says: [
    {
      keys: ['kv_source_layers'],
      read: (described) => {
        const sources =
          kvSources.read(described) ?? Array.from({ length: described.layers }, (_, layer) => layer);
        return sources.map((source, layer) =>
          source === layer ? 'own keys' : `keys of layer ${JSON.stringify(source)}`,
        );
      },
      write: (values) =>
        values.every((value) => value === 'own keys') ? { kv_source_layers: [...values.keys()] } : undefined,
    },
  ],
  because: 'names layers by their numbers, whose keys and values others take',
};
/** The kind of attention, from a list in which loaders require each of these words. */
export const typesWith = (...needed: readonly string[]): Trait => ({
  says: [
    {
      ...layerTypes,
      read: (described) => {
        const found = layerTypes.read(described);
        const absent = found && needed.find((word) => !found.map(meaningOf).includes(word));
        if (absent !== undefined) throw new Unsaid('layer_types', `needs a layer of ${absent}`);
        return found;
      },
    },
  ],
  because: `needs a layer each of ${needed.join(' and ')}`,
});
