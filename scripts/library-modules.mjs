/**
 * Modules of `src`, without suffix, that the build bundles separately: wrappers of libraries, and code that a
 * compiled script cannot contain.
 */
export const libraryModules = [
  'core/base/files/import-file',
  'core/models/sources/hub/push/upload/hub-library',
  'study/scores/statistics/distributions',
  'study/pages/score-table/parquet-library',
  'study/pages/components/data/text-search',
  'core/models/tokenizer/files/text-splitter',
  'core/texts/expressions',
];
