/**
 * Modules of `src`, without suffix, that the build bundles separately: wrappers of libraries, and code that a
 * compiled script cannot contain.
 */
export const libraryModules = [
  'base/import-file',
  'sources/hub/push/hub-library',
  'scores/distributions',
  'documents/score-table/parquet-library',
  'documents/pages/text-search',
  'model/tokenizer/text-splitter',
  'texts/expressions',
];
