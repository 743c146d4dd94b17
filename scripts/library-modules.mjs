/**
 * Modules of `src` that stand for libraries, or that a compiled script cannot hold, without their suffix: the build bundles
 * each apart.
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
