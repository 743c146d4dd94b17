/**
 * Modules of `src`, without suffix, that the build bundles separately: wrappers of libraries, and code that a
 * compiled script cannot contain.
 */
export const libraryModules = [
  'core/base/import-file',
  'core/models/sources/hub/push/hub-library',
  'study/scores/distributions',
  'study/pages/score-table/parquet-library',
  'study/pages/components/text-search',
  'core/models/tokenizer/text-splitter',
  'core/texts/expressions',
];
