/** Modules of `src` that stand for libraries, without their suffix: the build bundles each apart. */
export const libraryModules = [
  'sources/hub/push/hub-library',
  'scores/distributions',
  'documents/score-table/parquet-library',
  'documents/pages/text-search',
];
