/** Waits for all, then throws the first failure in order, whatever failed first. */
export const allInOrder = async <const Given extends readonly unknown[]>(
  promises: Given,
): Promise<{ -readonly [Index in keyof Given]: Awaited<Given[Index]> }> => {
  await Promise.allSettled(promises);
  return await Promise.all(promises);
};
