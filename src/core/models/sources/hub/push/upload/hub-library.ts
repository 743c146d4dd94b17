/**
 * The functions of the hub's library that layerloom uses. The build replaces the compiled module by a bundle
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
