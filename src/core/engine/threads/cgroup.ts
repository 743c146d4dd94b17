import { readFileSync } from 'node:fs';

const read = (path: string): string[] => {
  try {
    return [readFileSync(path, 'utf8')];
  } catch {
    // Without the file, there is no such limit.
    return [];
  }
};

/**
 * Reads files of cgroups version 2, of the process's group and its ancestors: all limits apply, and SLURM
 * limits a job several groups above its processes. Empty with version 1.
 */
export const cgroupTexts = (file: string): string[] => {
  const group = /^0::(?<path>.*)$/m.exec(read('/proc/self/cgroup')[0] ?? '')?.groups?.['path'] ?? '/';
  const parts = group.split('/').filter((part) => part !== '');
  return Array.from({ length: parts.length + 1 }, (_, length) => parts.slice(0, length)).flatMap((above) =>
    read(['/sys/fs/cgroup', ...above, file].join('/')),
  );
};

/** Reads a file of cgroups version 1 at the path that containers see. */
export const cgroup1Text = (file: string): string | undefined => read(`/sys/fs/cgroup/${file}`)[0];
