import { readFileSync } from 'node:fs';

const read = (path: string): string[] => {
  try {
    return [readFileSync(path, 'utf8')];
  } catch {
    // Without this file there is no such limit.
    return [];
  }
};

/**
 * Returns the texts of a cgroup file for the process's group and all above it, since all limits apply: SLURM
 * limits a job, several groups above its processes. Empty with cgroups version 1.
 */
export const cgroupTexts = (file: string): string[] => {
  const group = /^0::(?<path>.*)$/m.exec(read('/proc/self/cgroup')[0] ?? '')?.groups?.['path'] ?? '/';
  const parts = group.split('/').filter((part) => part !== '');
  return Array.from({ length: parts.length + 1 }, (_, length) => parts.slice(0, length)).flatMap((above) =>
    read(['/sys/fs/cgroup', ...above, file].join('/')),
  );
};

/** Returns a version 1 cgroup file, as containers see it. */
export const cgroup1Text = (file: string): string | undefined => read(`/sys/fs/cgroup/${file}`)[0];
