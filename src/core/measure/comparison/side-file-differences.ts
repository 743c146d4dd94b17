import { ownValue } from '../../base/errors/lookup.js';
import type { CheckpointIndex } from '../../models/checkpoint/checkpoint.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import { sideFileContent } from '../../models/checkpoint/side-file-content.js';
import { jsonOrNone } from '../../texts/json.js';

/** A JSON key with different values. */
export interface KeyDifference {
  /** Dotted path, at most three keys. */
  readonly key: string;
  /** The value as JSON; null if the key is missing; absent if longer than 200 characters. */
  readonly a?: string | null;
  readonly b?: string | null;
}

/**
 * How a side file differs.
 *
 * - `equal`: the same bytes.
 * - `sameContent`: equal JSON values, written differently.
 */
export interface SideFileDifference {
  readonly name: string;
  readonly state: 'equal' | 'sameContent' | 'differs' | 'onlyInA' | 'onlyInB';
  /** Keys that differ, if both files are JSON objects. */
  readonly keys: readonly KeyDifference[];
}

const depth = 3;
const longest = 200;

/** @throws READ_FAILED */
export const compareSideFiles = async (
  a: CheckpointIndex,
  b: CheckpointIndex,
): Promise<SideFileDifference[]> => {
  const names = [...new Set([...a.sideFiles, ...b.sideFiles])].sort();
  return await Promise.all(
    names.map(async (name): Promise<SideFileDifference> => {
      if (!b.sideFiles.includes(name)) return { name, state: 'onlyInA', keys: [] };
      if (!a.sideFiles.includes(name)) return { name, state: 'onlyInB', keys: [] };
      const [inA, inB] = await Promise.all([sideFileContent(a, name), sideFileContent(b, name)]);
      return { name, ...compareContents(inA, inB) };
    }),
  );
};

const compareContents = (a: Buffer, b: Buffer): Pick<SideFileDifference, 'state' | 'keys'> => {
  if (a.equals(b)) return { state: 'equal', keys: [] };
  const [inA, inB] = [objectIn(a), objectIn(b)];
  if (inA === undefined || inB === undefined) return { state: 'differs', keys: [] };
  const keys = differingKeys(inA, inB, []);
  return { state: keys.length === 0 ? 'sameContent' : 'differs', keys };
};

/** Parses a JSON object. Undefined for other or damaged files, which are compared by bytes. */
const objectIn = (content: Buffer): Record<string, unknown> | undefined => {
  const value = jsonOrNone(content, { python: true });
  return isObject(value) ? value : undefined;
};

const differingKeys = (
  a: Readonly<Record<string, unknown>>,
  b: Readonly<Record<string, unknown>>,
  path: readonly string[],
): KeyDifference[] =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) => {
    const [inA, inB] = [ownValue(a, key), ownValue(b, key)];
    if (isSame(inA, inB)) return [];
    const here = [...path, key];
    if (isObject(inA) && isObject(inB) && here.length < depth) return differingKeys(inA, inB, here);
    return [{ key: here.join('.'), ...told('a', inA), ...told('b', inB) }];
  });

const told = (side: 'a' | 'b', value: unknown): Pick<KeyDifference, 'a' | 'b'> => {
  const text = value === undefined ? null : JSON.stringify(value);
  return text !== null && text.length > longest ? {} : { [side]: text };
};

const isSame = (a: unknown, b: unknown): boolean => {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => isSame(item, b[index]));
  if (!isObject(a) || !isObject(b)) return Object.is(a, b);
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]))
  );
};
