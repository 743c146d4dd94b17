/**
 * Modules of `src` that stand for libraries, or that a compiled script cannot hold, without their suffix: the build bundles
 * each apart.
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
