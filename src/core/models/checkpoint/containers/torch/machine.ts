import { isUtf8 } from 'node:buffer';
import { itemAt } from '../../../../base/errors/lookup.js';
import { invalidTorchFile, unsupported } from './refusals.js';
import { isDict, type Value } from './values.js';

/** Maximum nesting of values. */
const mostDepth = 1_000_000;

/** Python's pickle machine without execution: input bytes, a stack with marks, and a memo. */
export class Machine {
  readonly file: string;
  readonly #mostObjects: number;
  readonly #bytes: Buffer;
  readonly #stack: Value[] = [];
  readonly #marks: number[] = [];
  readonly #memo: Value[] = [];
  #at = 0;
  #objects = 0;

  constructor(bytes: Uint8Array, file: string, mostObjects: number) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.file = file;
    this.#mostObjects = mostObjects;
  }

  stop(): Value {
    const value = this.pop();
    if (this.#stack.length > 0 || this.#marks.length > 0)
      throw invalidTorchFile(this.file, 'its pickle leaves values behind');
    if (this.#at !== this.#bytes.length)
      throw invalidTorchFile(this.file, 'its pickle ends before its zip entry does');
    return value;
  }

  take(bytes: number): Buffer {
    const end = this.#at + bytes;
    if (end > this.#bytes.length) throw invalidTorchFile(this.file, 'its pickle is cut off');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw invalidTorchFile(this.file, 'its pickle is cut off');
    this.#at += 1;
    return byte;
  }

  line(): string {
    const end = this.#bytes.indexOf(0x0a, this.#at);
    if (end === -1) throw invalidTorchFile(this.file, 'its pickle is cut off');
    const line = this.text(this.take(end - this.#at));
    this.#at += 1;
    return line;
  }

  text(bytes: Buffer): string {
    // Lossy decoding would change a tensor's name.
    if (!isUtf8(bytes)) throw invalidTorchFile(this.file, 'its pickle has text that is not UTF-8');
    return bytes.toString('utf8');
  }

  /** A little-endian integer in two's complement. */
  long(bytes: number): number | bigint {
    if (bytes === 0) return 0;
    if (bytes > 8) throw unsupported(this.file, `its pickle has an integer of ${bytes} bytes (LONG1)`);
    const taken = this.take(bytes);
    const sign = (itemAt([...taken], bytes - 1) & 0x80) === 0 ? 0 : 0xff;
    const value = Buffer.concat([taken, Buffer.alloc(8 - bytes, sign)]).readBigInt64LE();
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }

  mark(): void {
    this.#marks.push(this.#stack.length);
    this.#checkDepth();
  }

  /** Pushes a new value. Counts objects, at about 120 bytes each. */
  push(value: Value): void {
    if (typeof value === 'object' && value !== null) this.#objects += 1;
    if (this.#objects > this.#mostObjects)
      throw invalidTorchFile(this.file, `its pickle makes more than ${this.#mostObjects} objects`);
    this.#place(value);
  }

  #place(value: Value): void {
    this.#stack.push(value);
    this.#checkDepth();
  }

  #checkDepth(): void {
    if (this.#stack.length > mostDepth || this.#marks.length > mostDepth)
      throw invalidTorchFile(this.file, 'its pickle is nested too deeply');
  }

  pop(): Value {
    const value = this.#stack.length > (this.#marks.at(-1) ?? 0) ? this.#stack.pop() : undefined;
    if (value === undefined)
      throw invalidTorchFile(this.file, 'its pickle takes a value from an empty stack');
    return value;
  }

  popToMark(): Value[] {
    const mark = this.#marks.pop();
    if (mark === undefined) throw invalidTorchFile(this.file, 'its pickle lacks a mark');
    return this.#stack.splice(mark);
  }

  tuple(length: number): void {
    const items = Array.from({ length }, () => this.pop()).reverse();
    this.push({ kind: 'tuple', items });
  }

  top(): Value {
    const value = this.pop();
    this.#stack.push(value);
    return value;
  }

  append(items: readonly Value[]): void {
    const list = this.top();
    if (typeof list !== 'object' || list?.kind !== 'list')
      throw invalidTorchFile(this.file, 'its pickle appends to no list');
    for (const item of items) list.items.push(item);
  }

  setItems(items: readonly Value[]): void {
    const dict = this.top();
    if (!isDict(dict) || items.length % 2 !== 0)
      throw invalidTorchFile(this.file, 'its pickle sets items of no dictionary');
    for (let at = 0; at < items.length; at += 2) {
      const given = itemAt(items, at);
      // Python treats the keys True and 1 as equal.
      const key = typeof given === 'boolean' ? Number(given) : given;
      // For duplicate keys, Python keeps the last value, other readers the first.
      if (dict.items.has(key))
        throw invalidTorchFile(this.file, 'its pickle has a key twice in one dictionary');
      dict.items.set(key, itemAt(items, at + 1));
    }
  }

  /** Stores the top value in the memo. Python numbers memo entries consecutively. */
  put(index: number): void {
    if (index > this.#memo.length)
      throw invalidTorchFile(this.file, 'its pickle numbers what it remembers out of order');
    this.#memo[index] = this.top();
  }

  memoize(): void {
    this.put(this.#memo.length);
  }

  get(index: number): void {
    const value = this.#memo[index];
    if (value === undefined)
      throw invalidTorchFile(this.file, 'its pickle refers to a value that is not there');
    this.#place(value);
  }
}
