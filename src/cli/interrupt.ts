/** Aborts at the first SIGINT, SIGTERM or SIGHUP, so that staging is cleared; a second one ends the process as it would have. */
export const interruptSignal = (): { signal: AbortSignal; release: () => void } => {
  const controller = new AbortController();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const release = () => {
    for (const name of signals) process.off(name, onSignal);
  };
  const onSignal = () => {
    controller.abort();
    release();
  };
  for (const name of signals) process.on(name, onSignal);
  return { signal: controller.signal, release };
};
