// @ts-check
import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds in which a process's threads were ready to run but had no free core. @param {number} pid */
const starvedMs = (pid) => {
  let nanoseconds = 0;
  for (const task of readdirSync(`/proc/${pid}/task`))
    try {
      const [, delay] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ');
      nanoseconds += Number(delay);
    } catch {
      // The thread has ended meanwhile.
    }
  return nanoseconds / 1e6;
};

/** Milliseconds until the first check; most processes have ended by then. */
const firstMs = 1000;

/**
 * Calls a function after a process has had `ms` milliseconds. Time after the first second does not count if
 * other programs had its cores.
 *
 * @param {number} ms @param {number} pid @param {() => void} onEnd
 * @returns {() => void} ends the wait
 */
export const startPatience = (ms, pid, onEnd) => {
  const began = performance.now();
  /** @type {number | undefined} */
  let starvedBefore;
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const wait = (/** @type {number} */ left) => {
    timer = setTimeout(() => {
      const starved = starvedMs(pid);
      starvedBefore ??= starved;
      const had = performance.now() - began - (starved - starvedBefore);
      if (had >= ms - 1) onEnd();
      else wait(ms - had);
    }, left);
  };
  wait(Math.min(ms, firstMs));
  return () => clearTimeout(timer);
};
