import { LayerloomError } from '../../../../base/errors.js';
import { short } from '../short-name.js';

/** The end of the bytes that were read of a file that has more. */
export class MoreNeeded extends Error {
  /** At least so many are needed. */
  readonly bytes: number;

  constructor(bytes: number) {
    super();
    this.bytes = bytes;
  }
}

/** Returns the error of a header that is none of GGUF's. */
export const invalid = (file: string, reason: string, tensor?: string): LayerloomError =>
  new LayerloomError('HEADER_INVALID', {
    file,
    ...(tensor === undefined ? {} : { tensor: short(tensor) }),
    reason,
  });

/** The longest key or name, which llama.cpp's own are a tenth of; and the longest text of metadata that is kept. */
const [mostKeyBytes, mostTextBytes] = [65_535, 1 << 20];

/** Bytes of a metadata value, by the number of its type; texts and arrays have none. */
const sizes: Readonly<Record<number, number>> = {
  ...{ 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 },
};

const [ofText, ofArray] = [8, 9] as const;

/** A value of metadata. Of an array it is known how many elements it has. */
export type MetadataValue = string | number | boolean | { readonly elements: number };

/** Reads numbers and texts one behind the other, of the beginning of a file. No length leads out of the file. */
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

  /** A count, a length or an offset. @throws LayerloomError HEADER_INVALID beyond 2⁵³ − 1, which no file reaches */
  uint64(what: string): number {
    const value = this.#view.getBigUint64(this.#take(8), true);
    if (value > Number.MAX_SAFE_INTEGER) throw invalid(this.#file, `${what} is ${value}`);
    return Number(value);
  }

  /** A key or a name. */
  name(what: string): string {
    const bytes = this.uint64(`the length of ${what}`);
    if (bytes > mostKeyBytes) throw invalid(this.#file, `${what} has ${bytes} bytes`);
    return this.#text(bytes, what);
  }

  /** A value of metadata, with the number of its type before it. Texts that are too long for a name are left out. */
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

  /** Elements are passed over: tokens and merges of a tokenizer, by the hundred thousand. */
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
    throw invalid(this.#file, `${what} is of type ${type}${type === ofArray ? ', an array of arrays' : ''}`);
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

  /** @returns where the bytes begin */
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
