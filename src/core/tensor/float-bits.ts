import { itemAt } from '../base/errors/lookup.js';

export const bitsOfFloat = (x: number): number => itemAt(new Uint32Array(Float32Array.of(x).buffer), 0);

export const floatOfBits = (bits: number): number => itemAt(new Float32Array(Uint32Array.of(bits).buffer), 0);
