export const exportDialects = ['mergekit'] as const;
