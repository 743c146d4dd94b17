import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const machines = new Map([
  [62, 'x64'],
  [183, 'arm64'],
  [243, 'riscv64'],
  [21, 'ppc64'],
  [258, 'loong64'],
]);

const headerBytes = 64;

/**
 * Returns why a file is not a complete 64-bit ELF file for `arch`. The dynamic loader does not check the
 * length: loading a truncated file ends the process by SIGBUS.
 *
 * @param arch as in `process.arch`
 * @throws the system's error if the file is unreadable
 */
export const elfProblem = (file: string, arch: string): string | undefined => {
  const fd = openSync(file, 'r');
  try {
    const { size } = fstatSync(fd);
    const header = Buffer.alloc(headerBytes);
    const read = readSync(fd, header, 0, headerBytes, 0);
    if (read < headerBytes || header.toString('latin1', 0, 4) !== '\x7fELF') return 'it is not an ELF file';
    if (header[4] !== 2) return `it is for a 32-bit processor, and this Node is for ${arch}`;
    const machine = header.readUInt16LE(18);
    const built = machines.get(machine) ?? `ELF machine ${machine}`;
    if (built !== arch) return `it is for ${built}, and this Node is for ${arch}`;
    // Linkers put the section table at the end of the file.
    const end = Number(header.readBigUInt64LE(40)) + header.readUInt16LE(58) * header.readUInt16LE(60);
    return size < end ? `it is truncated: ${size} of ${end} bytes` : undefined;
  } finally {
    closeSync(fd);
  }
};
