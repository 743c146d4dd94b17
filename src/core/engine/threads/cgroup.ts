import { readFileSync } from 'node:fs';

const read = (path: string): string[] => {
  try {
    return [readFileSync(path, 'utf8')];
  } catch {
    // The kernel or container has no such file, and so no such limit.
    return [];
  }
};

/**
 * Returns the texts of a file of the process's cgroup and of those above it, which all limit it: SLURM limits a job, in
 * which a process is some groups further down. Empty where cgroups are of version 1.
 */
export const cgroupTexts = (file: string): string[] => {
  const group = /^0::(?<path>.*)$/m.exec(read('/proc/self/cgroup')[0] ?? '')?.groups?.['path'] ?? '/';
  const parts = group.split('/').filter((part) => part !== '');
  return Array.from({ length: parts.length + 1 }, (_, length) => parts.slice(0, length)).flatMap((above) =>
    read(['/sys/fs/cgroup', ...above, file].join('/')),
  );
};

/** Returns the text of a file of the process's cgroup of version 1, as containers see it; undefined where there is none. */
export const cgroup1Text = (file: string): string | undefined => read(`/sys/fs/cgroup/${file}`)[0];
