/** The dialects that recipes are exported in. */
export const exportDialects = ['mergekit'] as const;
