/**
 * First SIGINT, SIGTERM or SIGHUP aborts the signal, so that a run can remove or keep its staging. The handlers are
 * then removed, so a second signal ends the process.
 */
export const interruptible = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
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
  try {
    return await work(controller.signal);
  } finally {
    release();
  }
};
