import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, realpath, rm, statfs, writeFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { layerloomCommand } from '../../core/base/errors/command-line.js';
import { reasonOf } from '../../core/base/errors/errors.js';
import { formatBytes } from '../../core/base/format.js';
import { type Link, linkFileBy } from '../../core/engine/output/link.js';
import { type Finding, ok, problem, warning } from './finding.js';

export interface DirectoryFacts {
  readonly path: string;
  /** File system's type in the list of mounts, such as `ext4`, `apfs`, `nfs4`; undefined if not listed. */
  readonly type: string | undefined;
  readonly free: number;
  /** Reason why nothing can be written. */
  readonly refusal: string | undefined;
  readonly links: readonly Exclude<Link, 'copy'>[];
}

interface Mount {
  readonly point: string;
  readonly type: string;
}

/** Unescapes spaces and tabs in the kernel's lists of paths: `\040`. */
const unescaped = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/** Parses Linux's `/proc/self/mountinfo` or the output of macOS's `mount`. */
export const parseMounts = (text: string): Mount[] =>
  text.split('\n').flatMap((line) => {
    const linux = /^\S+ \S+ \S+ \S+ (?<point>\S+) .*? - (?<type>\S+) /.exec(line)?.groups;
    const macos = /^.+ on (?<point>\/.*) \((?<type>\w+)[,)]/.exec(line)?.groups;
    const { point, type } = linux ?? macos ?? {};
    return point === undefined || type === undefined ? [] : [{ point: unescaped(point), type }];
  });

/** Returns a real path's file system type: that of the longest mount point above it. */
export const fileSystemType = (path: string, mounts: readonly Mount[]): string | undefined => {
  const above = mounts.filter(({ point }) => point === '/' || path === point || path.startsWith(point + sep));
  return above.reduce<Mount | undefined>(
    (best, mount) => (best === undefined || mount.point.length >= best.point.length ? mount : best),
    undefined,
  )?.type;
};

const listMounts = async (): Promise<Mount[]> => {
  const text =
    process.platform === 'linux'
      ? await readFile('/proc/self/mountinfo', 'utf8')
      : execFileSync('mount', { encoding: 'utf8' });
  return parseMounts(text);
};

const tryLinks = async (path: string): Promise<Pick<DirectoryFacts, 'refusal' | 'links'>> => {
  let directory: string;
  try {
    directory = await mkdtemp(join(path, '.layerloom-doctor-'));
  } catch (error) {
    return { refusal: reasonOf(error), links: [] };
  }
  try {
    const from = join(directory, 'file');
    await writeFile(from, Buffer.alloc(4096, 1));
    const links: Exclude<Link, 'copy'>[] = [];
    for (const link of ['reflink', 'hard', 'symbolic'] as const) {
      const refused = await linkFileBy[link](from, join(directory, link)).catch((error: Error) => error);
      if (refused === undefined) links.push(link);
    }
    return { refusal: undefined, links };
  } catch (error) {
    return { refusal: reasonOf(error), links: [] };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};

/** @throws the system's error if the directory does not exist */
export const examineDirectory = async (directory: string): Promise<DirectoryFacts> => {
  const path = await realpath(resolve(directory));
  const { bavail, bsize } = await statfs(path);
  const type = fileSystemType(path, await listMounts());
  return { path, type, free: bavail * bsize, ...(await tryLinks(path)) };
};

const bytesOf8B = 16e9;

export const directoryFindings = ({ path, type, free, refusal, links }: DirectoryFacts): Finding[] => {
  if (refusal !== undefined)
    return [
      problem(
        'directory',
        `${path} cannot be written: ${refusal}`,
        `merge into another one: \`${layerloomCommand('doctor', 'DIR')}\``,
      ),
    ];
  const text = `${path}: ${type ?? 'unknown file system'}, ${formatBytes(free)} free`;
  const cheap = links.filter((link) => link !== 'symbolic');
  return [
    free < bytesOf8B
      ? warning('directory', text, 'a merge of 8B models takes 16 GB: free some, or use another disk')
      : ok('directory', text),
    cheap.length === 0
      ? warning('links', 'neither reflink nor hard', 'unchanged layers are copied; --link symbolic avoids it')
      : ok(
          'links',
          `${cheap.join(' and ')}${cheap.includes('reflink') ? '' : ' (no reflink here: --link hard avoids copies)'}`,
        ),
  ];
};
