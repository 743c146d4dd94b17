import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The kernel or container has no such file, and so no such limit.
    return undefined;
  }
};

/**
 * Returns the CPU quota of the process's cgroup in cores (version 2, else 1); undefined where there is none.
 */
const cgroupQuota = (): number | undefined => {
  const group = /^0::(?<path>.*)$/m.exec(read('/proc/self/cgroup') ?? '')?.groups?.['path'] ?? '/';
  const unified = read(`/sys/fs/cgroup${group}/cpu.max`) ?? read('/sys/fs/cgroup/cpu.max');
  const [quota, period] = unified?.split(/\s+/) ?? [
    read('/sys/fs/cgroup/cpu/cpu.cfs_quota_us'),
    read('/sys/fs/cgroup/cpu/cpu.cfs_period_us'),
  ];
  const cores = Number(quota) / Number(period);
  return Number.isFinite(cores) && cores > 0 ? cores : undefined;
};

/**
 * Returns the number of cores that this process may use, by CPU affinity and cgroup quota, rounded up; at
 * least 1.
 */
export const usableCores = (): number =>
  Math.max(1, Math.min(availableParallelism(), Math.ceil(cgroupQuota() ?? Number.POSITIVE_INFINITY)));
