import { cpus, freemem, totalmem } from 'node:os';
import { formatBytes } from '../../core/base/format.js';
import { usableCores } from '../../core/engine/threads/cores.js';
import { memoryLimit } from '../../core/engine/threads/memory.js';
import { type Finding, ok, warning } from './finding.js';

export interface MachineFacts {
  readonly cores: number;
  /** Number of cores that affinity and cgroup quota allow: the default of `--threads`. */
  readonly usableCores: number;
  readonly memory: number;
  /** Cgroup's limit in bytes, version 1 or 2, if any. */
  readonly memoryLimit: number | undefined;
  readonly availableMemory: number;
}

/** Upper estimate of a merge's private memory with one thread: a few tiles, and Node. */
const bytesForMerging = 256e6;

export const examineMachine = (): MachineFacts => {
  const memory = totalmem();
  const availableMemory = process.availableMemory?.() ?? freemem();
  return {
    cores: cpus().length,
    usableCores: usableCores(),
    memory,
    memoryLimit: memoryLimit(),
    availableMemory,
  };
};

export const machineFindings = (facts: MachineFacts): Finding[] => {
  const { cores, usableCores: usable, memory, memoryLimit, availableMemory } = facts;
  const threads =
    usable < cores ? `${usable} of ${cores} cores, by CPU affinity or a cgroup's quota` : `${usable} cores`;
  const size = `${formatBytes(memory)}${memoryLimit === undefined ? '' : `, of which a cgroup allows ${formatBytes(memoryLimit)}`}`;
  const text = `${size}; ${formatBytes(availableMemory)} available`;
  return [
    ok('threads', threads),
    availableMemory < bytesForMerging
      ? warning('memory', text, 'merge with --threads 1, or raise the limit')
      : ok('memory', text),
  ];
};
