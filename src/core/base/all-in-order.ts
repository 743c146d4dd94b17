/** Waits for all promises, then throws the failure of the first in the list, not the earliest in time. */
export const allInOrder = async <const Given extends readonly unknown[]>(
  promises: Given,
): Promise<{ -readonly [Index in keyof Given]: Awaited<Given[Index]> }> => {
  await Promise.allSettled(promises);
  return await Promise.all(promises);
};
