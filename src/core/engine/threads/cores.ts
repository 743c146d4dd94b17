import { availableParallelism } from 'node:os';
import { cgroup1Text, cgroupTexts } from './cgroup.js';

/** Returns the cgroup's CPU quota (version 2 or 1) in cores, or Infinity. */
const cgroupQuota = (): number => {
  const unified = cgroupTexts('cpu.max');
  const quotas =
    unified.length > 0
      ? unified.map((text) => text.split(/\s+/))
      : [[cgroup1Text('cpu/cpu.cfs_quota_us'), cgroup1Text('cpu/cpu.cfs_period_us')]];
  const cores = quotas.map(([quota, period]) => Number(quota) / Number(period));
  return Math.min(...cores.filter((one) => Number.isFinite(one) && one > 0));
};

/** Counts cores that affinity and quota allow, rounded up. */
export const usableCores = (): number =>
  Math.max(1, Math.min(availableParallelism(), Math.ceil(cgroupQuota())));
