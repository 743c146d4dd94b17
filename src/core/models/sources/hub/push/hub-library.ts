/**
 * What is used of the hub's own library. The build replaces the compiled module by its bundle
 * (`scripts/bundle-libraries.mjs`).
 */
export {
  checkRepoAccess,
  commitIter,
  createBranch,
  createRepo,
  HubApiError,
  pathsInfo,
} from '@huggingface/hub';
