import { groupSize, inWords, modulesInWords } from '../int32-words.js';
import type { QuantisationScheme, QuantisedCheckpoint } from '../scheme.js';

/** True if an activation divides its values by scales, by which the next module's weight is multiplied. */
const scalesActivations = ({ checkpoint: { tensors } }: QuantisedCheckpoint): boolean =>
  [...tensors.keys()].some(
    (name) => name.endsWith('.scales') && !tensors.has(name.replace(/scales$/, 'qweight')),
  );

/**
 * AWQ in AutoAWQ's version `gemm`, 4 bits. I32 `qweight` is [in, out/8], with eight codes of a row in each
 * word, in the order 0, 2, 4, 6, 1, 3, 5, 7. `qzeros` [groups, out/8] are packed the same; `scales` are
 * [groups, out].
 */
export const awq: QuantisationScheme = {
  methods: ['awq'],
  unconverted: ['modules_to_not_convert'],
  origins: ['meta'],
  find: (model) => {
    const { settings } = model;
    const version = settings['version'] ?? settings['format'] ?? settings['checkpoint_format'] ?? 'gemm';
    const bits = settings['bits'] ?? settings['w_bit'];
    if (String(version).toLowerCase() !== 'gemm' || bits !== 4) return [];
    const group = groupSize(settings['group_size'] ?? settings['q_group_size']);
    const modules = modulesInWords(model);
    if (scalesActivations(model)) return [];
    return modules.map((module) =>
      inWords(model, module, {
        bits,
        order: 'interleaved',
        ofZeros: 'interleaved',
        oneMore: false,
        group,
      }),
    );
  },
};
