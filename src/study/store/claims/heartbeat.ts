/** Milliseconds between heartbeats, well below `staleAfterMs`. */
const everyMs = 10_000;

interface Beating {
  /** @returns false if no further beat is needed */
  beat(): Promise<boolean>;
}

const beating = new Set<Beating>();
let timer: NodeJS.Timeout | undefined;
let isBusy = false;

/** Adds a claim to the heartbeat. All claims share one timer, which does not keep the process alive. */
export const keepBeating = (claim: Beating): void => {
  beating.add(claim);
  timer ??= setInterval(beatAll, everyMs).unref();
};

export const stopBeating = (claim: Beating): void => {
  beating.delete(claim);
  if (beating.size > 0) return;
  clearInterval(timer);
  timer = undefined;
};

const beatAll = async (): Promise<void> => {
  // On a slow file system the previous round may still be running.
  if (isBusy) return;
  isBusy = true;
  for (const claim of [...beating]) {
    // After an error, the next beat retries.
    const goesOn = !beating.has(claim) || (await claim.beat().catch(() => true));
    if (!goesOn) stopBeating(claim);
  }
  isBusy = false;
};
