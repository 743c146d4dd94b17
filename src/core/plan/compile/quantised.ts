import type { CheckpointIndex } from '../../models/checkpoint/checkpoint.js';
import { unreadSettings } from '../../models/quantisation/dequantised.js';
import type { Dtype } from '../../tensor/dtype.js';
import type { TensorReference } from '../../tensor/reference.js';

/**
 * Matches ends of quantised modules' names: scales, zero points and packed weights of compressed-tensors,
 * ModelOpt, FP8, GPTQ, AWQ, EETQ, MXFP4 and bitsandbytes. Excludes a learnt scale of Gemma 3n.
 */
const marks =
  /[._]((weight|input|output|activation|k|v|q)(_global)?_scales?(_inv|_2)?|weight_(packed|shape|zero_point|g_idx)|g_idx|qweight|qzeros|scales|blocks|SCB|weight\.(absmax|quant_map|nested_absmax|quant_state\..+))$/;

const markedModule = (name: string): string | undefined => {
  const found = name.endsWith('.altup.correct_output_scale') ? null : marks.exec(name);
  return found === null || found.index === 0 ? undefined : name.slice(0, found.index);
};

/**
 * Returns all tensors of quantised modules except biases. They cannot be averaged without scales. If the scheme is not
 * read, matrices of FP8 or narrow integers count as codes.
 */
export const quantisedTensors = (
  checkpoint: Pick<CheckpointIndex, 'tensors' | 'config' | 'quantisation'>,
): ReadonlySet<string> => {
  const all = [...checkpoint.tensors];
  const modules = new Set(all.flatMap(([name]) => markedModule(name) ?? []));
  const isUnread = unreadSettings(checkpoint) !== undefined;
  if (modules.size === 0 && !isUnread) return new Set();
  const moduleOf = (name: string) => markedModule(name) ?? name.replace(/\.weight$/, '');
  return new Set(
    all.flatMap(([name, reference]) =>
      modules.has(moduleOf(name)) || (isUnread && isCode(reference)) ? [name] : [],
    ),
  );
};

const codeDtypes: ReadonlySet<Dtype> = new Set(['F8_E4M3', 'F8_E5M2', 'I8', 'U8', 'I16', 'I32']);

export const isCode = ({ dtype, shape }: Pick<TensorReference, 'dtype' | 'shape'>): boolean =>
  shape.length >= 2 && codeDtypes.has(dtype);
