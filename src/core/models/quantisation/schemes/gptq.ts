import { gridOf } from '../../../tensor/quantisation-layout.js';
import { isObject } from '../../checkpoint/files/json.js';
import { groupSize, inWords, modulesInWords } from '../int32-words.js';
import { hasConv1D, type QuantisationScheme, type QuantisedCheckpoint, tensorBeside } from '../scheme.js';

/** Whether zero points are stored minus 1, by value of `checkpoint_format`. */
const formats: ReadonlyMap<unknown, boolean> = new Map([
  ['gptq', true],
  ['gptq_v2', false],
]);

/**
 * GPTQ as in AutoGPTQ, GPTQModel and optimum, 4 and 8 bits. I32 `qweight` is [in·bits/32, out], packed
 * along columns; `qzeros` are [groups, out·bits/32], `scales` [groups, out]; `g_idx` [in] is each input
 * feature's group.
 */
export const gptq: QuantisationScheme = {
  methods: ['gptq'],
  unconverted: [],
  origins: [
    ...['batch_size', 'block_name_to_quantize', 'cache_block_outputs', 'damp_percent', 'damp_auto_increment'],
    ...['dataset', 'meta', 'model_file_base_name', 'model_name_or_path', 'model_seqlen', 'quantizer'],
    ...['static_groups', 'tokenizer', 'true_sequential'],
  ],
  find: (model) => {
    const { settings } = model;
    const format = settings['checkpoint_format'] ?? settings['format'] ?? 'gptq';
    const oneMore = formats.get(typeof format === 'string' ? format.toLowerCase() : format);
    // Loaders of rotated models rotate inputs, too.
    if (oneMore === undefined || hasConv1D(model) || typeof settings['rotation'] === 'string') return [];
    return modulesInWords(model).flatMap((module) => {
      const { bits, group } = sizesOf(model, module);
      if (bits !== 4 && bits !== 8) return [];
      const found = inWords(model, module, { bits, order: 'down', ofZeros: 'across', oneMore, group });
      if (settings['desc_act'] === true && gridOf(found.form)[0] > 1)
        tensorBeside(model.checkpoint, `${module}.qweight`, `${module}.g_idx`);
      return [found];
    });
  },
};

/**
 * Returns a module's bits and group size. If settings are `dynamic`, bits are from the shapes, and the size is
 * the one in the settings that makes this number of groups; without it, or with several, bits are undefined.
 */
const sizesOf = (
  { checkpoint: { tensors }, settings }: QuantisedCheckpoint,
  module: string,
): { readonly bits: unknown; readonly group: number | undefined } => {
  const { bits, group_size, dynamic } = settings;
  if (!isObject(dynamic)) return { bits, group: groupSize(group_size) };
  const shapeOf = (part: string) => tensors.get(`${module}.${part}`)?.shape ?? [];
  const [[rowsOfWords = 0], [groups = 1, out = 1], [, words = 0]] = [
    shapeOf('qweight'),
    shapeOf('scales'),
    shapeOf('qzeros'),
  ];
  const ownBits = (32 * words) / out;
  const features = (rowsOfWords * 32) / ownBits;
  const sizes = new Set(
    [settings, ...Object.values(dynamic)].flatMap(
      (one) => (isObject(one) ? groupSize(one['group_size']) : undefined) ?? [],
    ),
  );
  const fitting = [...sizes].filter((size) => Math.ceil(features / size) === groups);
  const [group, more] = groups === 1 ? [features] : fitting;
  const isSure = group !== undefined && (more === undefined || tensors.has(`${module}.g_idx`));
  return isSure ? { bits: ownBits, group } : { bits: undefined, group };
};
