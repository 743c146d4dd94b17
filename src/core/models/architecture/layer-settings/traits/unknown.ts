import { isGiven, isObject } from '../../../checkpoint/files/json.js';
import { type Section, Unsaid } from './saying.js';

/** Keys whose lists and dictionaries have nothing to do with layers. */
const ofSomethingElse =
  /^(architectures|auto_map|id2label|label2id|label_names|rope_(parameters|scaling|theta)|quantization_config|compression_config|task_specific_params|keys_to_ignore_at_inference|bad_words_ids|forced_decoder_ids|pos_att_type|time_step_limit|(ssm|mlp)_multipliers|lang(uage)?s|type_vocab_sizes|image_grid_pinpoints|conv_(dim|kernel|stride)|tdnn_\w+|mtp_\w+|L_bp_cycles|relative_bias_args|axial_\w+|delay_pattern|merge_kernel_size|masked_\w+|\w*token_(ids?|index)|\w*_tokens|\w*(vision|visual|image|video|audio|speech|sound|codec|projector)\w*)$/;

/** Keys that only sound like settings of layers. */
const harmless =
  /^(num_hidden_layers|num_layers|n_layers?|layers|(encoder|decoder)_layers|num_(encoder|decoder|single)_layers|\w*layer_?norm\w*|\w*layer_?drop\w*|layer_scale_init\w*|\w*embed\w*|\w*dropout\w*|initializer\w*|block_size|\w*_block_size)$/;

/** Words in transformers' keys for layer settings, which identify such keys in unknown families. */
const soundsOfLayers =
  /(^|_)(layers?|blocks?)(_|$)|pattern|period|offset|interval|every_|_freq(uency)?$|(^|_)step$|_idxs?$|indices|indexes|first_k|nextn/;

/**
 * Refuses an unknown family whose configuration may have settings that differ between layers.
 *
 * @throws Unsaid
 */
export const refuseSuspicions = (section: Section, known: ReadonlySet<string>): void => {
  for (const [key, value] of Object.entries(section)) {
    if (known.has(key) || ofSomethingElse.test(key) || harmless.test(key) || !soundsOfLayers.test(key))
      continue;
    const saysNothing = !isGiven(value) || value === false || (Array.isArray(value) && value.length === 0);
    if (!saysNothing)
      throw new Unsaid(key, 'may say something by layer, and this family is not one that layerloom knows');
  }
};

const deepest = 4;

/**
 * Refuses an unknown list whose length is a multiple of the number of layers.
 *
 * @param known keys that layerloom understands
 * @throws Unsaid
 */
export const refuseLists = (
  section: Section,
  layers: number,
  known: ReadonlySet<string>,
  depth = 0,
): void => {
  for (const [key, value] of Object.entries(section)) {
    if (known.has(key) || ofSomethingElse.test(key)) continue;
    if (Array.isArray(value) && value.length > 0 && value.length % layers === 0)
      throw new Unsaid(
        key,
        `has ${value.length} entries for ${layers} layers, and it is not known what they say`,
      );
    if (isObject(value) && depth < deepest) refuseLists(value, layers, known, depth + 1);
  }
};
