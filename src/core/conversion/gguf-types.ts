/** Types that the converter itself writes, with bytes per element. */
const converted = { f32: 4, f16: 2, bf16: 2, q8_0: 34 / 32 } as const;

/** Types that llama-quantize writes without an importance matrix, largest first. */
const quantised = [
  ...['q6_k', 'q5_k_m', 'q5_k_s', 'q5_1', 'q5_0', 'q4_k_m', 'q4_k_s', 'q4_1', 'iq4_nl', 'iq4_xs', 'q4_0'],
  ...['q3_k_l', 'q3_k_m', 'q3_k_s', 'q2_k'],
] as const;

/** A GGUF type by llama.cpp's name. */
export type GgufType = keyof typeof converted | (typeof quantised)[number];

export type ConvertedType = keyof typeof converted;

export const ggufTypes: readonly GgufType[] = [...(Object.keys(converted) as ConvertedType[]), ...quantised];

export const isConvertedType = (type: GgufType): type is ConvertedType => Object.hasOwn(converted, type);

/** Returns bytes per element. For llama-quantize's types these are Q8_0's bytes, an upper bound. */
export const bytesPerElement = (type: GgufType): number =>
  isConvertedType(type) ? converted[type] : converted.q8_0;
