import { decodeUtf8 } from '../../core/texts/json.js';
import { TextRefused } from '../../core/texts/text-refused.js';

// A bundle is a POSIX tar (ustar) of regular files without owners and times. For each name and size exactly
// one header is valid, so the reader compares headers: this refuses links, devices, sparse files and
// extensions.

export const blockBytes = 512;

export const endBytes = 2 * blockBytes;

/** Largest size in eleven octal digits. */
export const mostFileBytes = 8 ** 11 - 1;

export const paddingOf = (bytes: number): number => (blockBytes - (bytes % blockBytes)) % blockBytes;

const [longestName, longestPrefix] = [100, 155];

/**
 * Splits a name at the first slash that leaves both parts short enough; undefined if the name is too long.
 */
const dividedName = (name: string): { readonly prefix: string; readonly rest: string } | undefined => {
  if (Buffer.byteLength(name) <= longestName) return { prefix: '', rest: name };
  for (let at = name.indexOf('/'); at > 0; at = name.indexOf('/', at + 1)) {
    const [prefix, rest] = [name.slice(0, at), name.slice(at + 1)];
    if (Buffer.byteLength(rest) > longestName) continue;
    return Buffer.byteLength(prefix) <= longestPrefix && rest !== '' ? { prefix, rest } : undefined;
  }
  return undefined;
};

/** Returns a file's header; undefined for a name or size that the format cannot hold. */
export const tarHeader = (name: string, bytes: number): Buffer | undefined => {
  const divided = dividedName(name);
  if (divided === undefined || bytes > mostFileBytes) return undefined;
  const header = Buffer.alloc(blockBytes);
  header.write(divided.rest, 0);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${bytes.toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write(' '.repeat(8), 148);
  header.write('0', 156);
  header.write('ustar\x0000', 257);
  header.write('0000000\0', 329);
  header.write('0000000\0', 337);
  header.write(divided.prefix, 345);
  let sum = 0;
  for (const byte of header) sum += byte;
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
};

/** Kinds of entries in other archives, by type flag. */
const otherKinds: Readonly<Record<string, string>> = {
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a device',
  '4': 'a device',
  '5': 'an entry for a directory',
  '6': 'a pipe',
  L: 'a long name of GNU tar',
  K: 'a long link of GNU tar',
  S: 'a sparse file',
  g: 'an extended header',
  x: 'an extended header',
};

const textOf = (field: Buffer): string => {
  const end = field.indexOf(0);
  return decodeUtf8(end === -1 ? field : field.subarray(0, end));
};

/**
 * Reads a header as written by `tarHeader`.
 *
 * @throws TextRefused
 */
export const readTarHeader = (header: Buffer): { readonly name: string; readonly bytes: number } => {
  const kind = otherKinds[header.toString('latin1', 156, 157)];
  if (kind !== undefined) throw new TextRefused(`it contains ${kind}, which bundles do not`);
  const [rest, prefix] = [textOf(header.subarray(0, 100)), textOf(header.subarray(345, 500))];
  const name = prefix === '' ? rest : `${prefix}/${rest}`;
  const size = /^[0-7]{11}$/.exec(header.toString('latin1', 124, 135))?.[0] ?? '';
  const bytes = Number.parseInt(size, 8);
  if (size === '' || tarHeader(name, bytes)?.equals(header) !== true)
    throw new TextRefused('a header is not one that layerloom writes');
  return { name, bytes };
};
