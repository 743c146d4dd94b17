/** Well under the age at which a claim counts as dead. */
const everyMs = 10_000;

interface Beating {
  /** @returns false when it need beat no more */
  beat(): Promise<boolean>;
}

const beating = new Set<Beating>();
let timer: NodeJS.Timeout | undefined;
let isBusy = false;

/** One timer for all claims of the process, which does not keep the process running. */
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
  // A slow file system is given the time that it needs.
  if (isBusy) return;
  isBusy = true;
  for (const claim of [...beating]) {
    // A file system that fails for a moment may have recovered at the next beat.
    const goesOn = !beating.has(claim) || (await claim.beat().catch(() => true));
    if (!goesOn) stopBeating(claim);
  }
  isBusy = false;
};
