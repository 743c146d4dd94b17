/** A number's bits as float32, to which it is rounded. */
export const bitsOfFloat = (x: number): number => new Uint32Array(Float32Array.of(x).buffer)[0] ?? 0;

export const floatOfBits = (bits: number): number => new Float32Array(Uint32Array.of(bits).buffer)[0] ?? 0;
