// @ts-check
import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds for which threads of a process were ready to run, and none of the machine's cores was free for them. @param {number} pid */
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

/**
 * Calls a function when a process had so many milliseconds, not counting those in which other programs had its cores.
 *
 * @param {number} ms @param {number} pid @param {() => void} onEnd
 * @returns {() => void} what ends the wait
 */
export const startPatience = (ms, pid, onEnd) => {
  const began = { at: performance.now(), starved: starvedMs(pid) };
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const wait = (/** @type {number} */ left) => {
    timer = setTimeout(() => {
      const had = performance.now() - began.at - (starvedMs(pid) - began.starved);
      if (had >= ms - 1) onEnd();
      else wait(ms - had);
    }, left);
  };
  wait(ms);
  return () => clearTimeout(timer);
};
