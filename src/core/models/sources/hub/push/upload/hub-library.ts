/** Functions of the hub's library. The build bundles this module (`scripts/bundle-libraries.mjs`). */
export {
  checkRepoAccess,
  commitIter,
  createBranch,
  createRepo,
  HubApiError,
  pathsInfo,
} from '@huggingface/hub';
