import { createHash } from 'node:crypto';

// Writes archives as strangers may, independently of the program.

export interface Entry {
  readonly name: string;
  readonly content?: string | Buffer;
  readonly type?: string;
  readonly link?: string;
  /** States another size than the content has. */
  readonly size?: number | string;
  readonly mode?: string;
}

const header = ({ name, content = '', type = '0', link = '', size, mode = '0000644' }: Entry): Buffer => {
  const block = Buffer.alloc(512);
  const bytes = Buffer.byteLength(content);
  const stated = typeof size === 'string' ? size : (size ?? bytes).toString(8).padStart(11, '0');
  const cut = Buffer.byteLength(name) > 100 ? name.indexOf('/', name.length - 101) : -1;
  const fields: [number, string][] = [
    [0, cut < 0 ? name : name.slice(cut + 1)],
    [100, `${mode}\0`],
    [108, '0000000\0'],
    [116, '0000000\0'],
    [124, `${stated}\0`],
    [136, '00000000000\0'],
    [148, '        '],
    [156, type],
    [157, link],
    [257, 'ustar\x0000'],
    [329, '0000000\0'],
    [337, '0000000\0'],
    [345, cut < 0 ? '' : name.slice(0, cut)],
  ];
  for (const [at, text] of fields) block.write(text, at);
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
};

export const archiveOf = (entries: readonly Entry[]): Buffer =>
  Buffer.concat([
    ...entries.flatMap((entry) => {
      const content = Buffer.from(entry.content ?? '');
      return [header(entry), content, Buffer.alloc((512 - (content.length % 512)) % 512)];
    }),
    Buffer.alloc(1024),
  ]);

/** Adds the list of SHA-256, and puts all into the folder of a bundle. */
export const withSums = (entries: readonly Entry[]): Entry[] => {
  const sums = entries.map(
    ({ name, content = '' }) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`,
  );
  return [...entries, { name: 'SHA256SUMS', content: sums.join('') }].map((entry) => ({
    ...entry,
    name: `study/${entry.name}`,
  }));
};

/** Reads the entries of an archive with plain headers. */
export const entriesOf = (archive: Buffer): { name: string; content: Buffer }[] => {
  const entries: { name: string; content: Buffer }[] = [];
  for (let at = 0; archive[at] !== 0; ) {
    const text = (from: number, to: number) =>
      archive.toString('utf8', at + from, at + to).replace(/\0.*/s, '');
    const [prefix, bytes] = [text(345, 500), Number.parseInt(text(124, 136), 8)];
    entries.push({
      name: prefix === '' ? text(0, 100) : `${prefix}/${text(0, 100)}`,
      content: archive.subarray(at + 512, at + 512 + bytes),
    });
    at += 512 + Math.ceil(bytes / 512) * 512;
  }
  return entries;
};
