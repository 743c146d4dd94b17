/** Encodes a bit set as base64: bit `i` is bit `i % 8` of byte `i / 8`. */
export const encodeBits = (bits: readonly boolean[]): string => {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  bits.forEach((bit, index) => {
    if (bit) bytes[index >> 3] = (bytes[index >> 3] ?? 0) | (1 << (index & 7));
  });
  return btoa(String.fromCharCode(...bytes));
};

export const decodeBits = (text: string, count: number): boolean[] => {
  const bytes = atob(text);
  return Array.from({ length: count }, (_, index) => (bytes.charCodeAt(index >> 3) >> (index & 7)) % 2 === 1);
};
