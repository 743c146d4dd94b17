/** True for a whole number, 0 or more, that float64 holds exactly. */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
