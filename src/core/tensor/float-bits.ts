import { itemAt } from '../base/lookup.js';

/** Rounds a number to float32 and returns its bit pattern. */
export const bitsOfFloat = (x: number): number => itemAt(new Uint32Array(Float32Array.of(x).buffer), 0);

/** Returns the float32 with a bit pattern. */
export const floatOfBits = (bits: number): number => itemAt(new Float32Array(Uint32Array.of(bits).buffer), 0);
