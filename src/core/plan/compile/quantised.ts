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

/** Returns all tensors of quantised modules except biases. They cannot be averaged without scales. */
export const quantisedTensors = (names: Iterable<string>): ReadonlySet<string> => {
  const all = [...names];
  const modules = new Set(all.flatMap((name) => markedModule(name) ?? []));
  if (modules.size === 0) return new Set();
  const moduleOf = (name: string) => markedModule(name) ?? name.replace(/\.weight$/, '');
  return new Set(all.filter((name) => modules.has(moduleOf(name))));
};
