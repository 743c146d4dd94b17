import { LayerloomError } from '../../../../base/errors/errors.js';
import { short } from '../short-name.js';

/** Thrown if more bytes must be read. */
export class MoreNeeded extends Error {
  /** The minimum number of bytes. */
  readonly bytes: number;

  constructor(bytes: number) {
    super();
    this.bytes = bytes;
  }
}

export const invalidGguf = (file: string, reason: string, tensor?: string): LayerloomError =>
  new LayerloomError('HEADER_INVALID', {
    file,
    ...(tensor === undefined ? {} : { tensor: short(tensor) }),
    reason,
  });

/** Maximum bytes of keys and names (ten times llama.cpp's limits), and of stored metadata texts. */
const [mostKeyBytes, mostTextBytes] = [65_535, 1 << 20];

/** Size of a metadata value by type number; strings and arrays have no fixed size. */
const sizes: Readonly<Record<number, number>> = {
  ...{ 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 },
};

const [ofText, ofArray] = [8, 9] as const;

/** A metadata value. For an array, only the number of elements. */
export type MetadataValue = string | number | boolean | { readonly elements: number };

/** Reads numbers and strings in sequence from a file's start. Checks lengths against the file's size. */
export class Scanner {
  readonly #view: DataView;
  readonly #file: string;
  readonly #fileBytes: number;
  #at = 0;

  constructor(start: Uint8Array, file: string, fileBytes: number) {
    this.#view = new DataView(start.buffer, start.byteOffset, start.byteLength);
    this.#file = file;
    this.#fileBytes = fileBytes;
  }

  get position(): number {
    return this.#at;
  }

  uint32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  /** Reads a count, length or offset. @throws HEADER_INVALID above 2⁵³ − 1 */
  uint64(what: string): number {
    const value = this.#view.getBigUint64(this.#take(8), true);
    if (value > Number.MAX_SAFE_INTEGER) throw invalidGguf(this.#file, `${what} is ${value}`);
    return Number(value);
  }

  name(what: string): string {
    const bytes = this.uint64(`the length of ${what}`);
    if (bytes > mostKeyBytes) throw invalidGguf(this.#file, `${what} has ${bytes} bytes`);
    return this.#text(bytes, what);
  }

  /** Reads a type number and a metadata value. Overlong strings are skipped and returned as ''. */
  value(key: string): MetadataValue {
    const what = `the value of ${short(key)}`;
    const type = this.uint32();
    if (type === ofText) {
      const bytes = this.uint64(`the length of ${what}`);
      if (bytes <= mostTextBytes) return this.#text(bytes, what);
      this.#take(bytes);
      return '';
    }
    return type === ofArray ? this.#array(what) : this.#number(type, what);
  }

  #number(type: number, what: string): number | boolean {
    const at = this.#take(this.#sizeOf(type, what));
    const view = this.#view;
    switch (type) {
      case 0:
        return view.getUint8(at);
      case 1:
        return view.getInt8(at);
      case 2:
        return view.getUint16(at, true);
      case 3:
        return view.getInt16(at, true);
      case 4:
        return view.getUint32(at, true);
      case 5:
        return view.getInt32(at, true);
      case 6:
        return view.getFloat32(at, true);
      case 7:
        return view.getUint8(at) !== 0;
      case 10:
        return Number(view.getBigUint64(at, true));
      case 11:
        return Number(view.getBigInt64(at, true));
      default:
        return view.getFloat64(at, true);
    }
  }

  /** Skips elements: a tokenizer has hundreds of thousands of tokens and merges. */
  #array(what: string): MetadataValue {
    const type = this.uint32();
    const elements = this.uint64(`the number of elements of ${what}`);
    if (type === ofText)
      for (let index = 0; index < elements; index += 1) this.#take(this.uint64(`the length of ${what}`));
    else this.#take(elements * this.#sizeOf(type, what));
    return { elements };
  }

  #sizeOf(type: number, what: string): number {
    const size = sizes[type];
    if (size !== undefined) return size;
    throw invalidGguf(
      this.#file,
      `${what} is of type ${type}${type === ofArray ? ', an array of arrays' : ''}`,
    );
  }

  #text(bytes: number, what: string): string {
    const at = this.#take(bytes);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
        new Uint8Array(this.#view.buffer, this.#view.byteOffset + at, bytes),
      );
    } catch (cause) {
      throw new LayerloomError(
        'HEADER_INVALID',
        { file: this.#file, reason: `${what} is not UTF-8` },
        { cause },
      );
    }
  }

  /** @returns the offset of the bytes */
  #take(bytes: number): number {
    const [begin, end] = [this.#at, this.#at + bytes];
    if (end > this.#fileBytes)
      throw new LayerloomError('HEADER_TRUNCATED', {
        ...{ file: this.#file, announced: end, available: this.#fileBytes },
      });
    if (end > this.#view.byteLength) throw new MoreNeeded(end);
    this.#at = end;
    return begin;
  }
}
